#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/policy_method.h"
#include "core/base/config.h"
#include "core/cost/measured.h"
#include "core/exec/compare.h"
#include "core/onnx/import.h"
#include "core/search/search.h"

namespace reverie {

/// What a policy is held against and how.
struct EvaluationConfig {
  int64_t seeds = 3;
  int64_t samples = 16;
  int64_t taso_budget = 100;
  double alpha = 1.05;
  int64_t rule_orders = 50;
  bool measure = true;
  int64_t repeats = 30;
  std::string machine;
  int64_t verify_inputs = 2;
  bool guided = false;
  GuidedSearchOptions guide;

  template <class V> void fields(V& v) {
    v.field("seeds", seeds, "Seeds of each method that draws", at_least(1));
    v.field("samples", samples, "Episodes that the sampled policy plays", at_least(1));
    v.field("taso_budget", taso_budget, "Expansions of the backtracking search", at_least(1));
    v.field("alpha", alpha, "And its alpha", at_least(1));
    v.field("rule_orders", rule_orders, "Random rule orders of which the best counts", at_least(1));
    v.field("measure", measure, "Measure originals and results end to end, where all their operators can be run");
    v.field("repeats", repeats, "Interleaved runs of these measurements", at_least(2));
    v.field("machine", machine,
            "Where: " + known_machines() + "; empty: where costs are measured, else cpu");
    v.field("verify_inputs", verify_inputs, "Random inputs on which results must agree", at_least(1));
    v.field("guided", guided,
            "The policy also guides beam search and tree search, with as many expansions as taso");
    v.section("guide", guide, "How it guides them, and how long its episodes are");
  }
};

/// One run of one method on one model.
struct MethodRun {
  std::string method;
  uint64_t seed = 0;
  Cost best_cost;
  double improvement_percent = 0;  ///< of the estimated time
  double seconds = 0;
  int64_t steps = 0;               ///< rewrites carried out
  int64_t candidates = 0;
  int64_t cost_lookups = 0;
  int64_t measurements = 0;
  std::vector<SearchProgress> trace;
};

/// The best run of a method on a model, and what was made of it.
struct MethodBest {
  std::string method;
  uint64_t seed = 0;
  std::vector<RewriteStep> rewrites;
  std::vector<double> cost_ms;  ///< along the rewrites, the start first
  Cost cost;
  int64_t weight_bytes = 0;
  Agreement verified;
  std::string file;             ///< the model as ONNX, relative to the report; empty for no-op
  EndToEnd measured;            ///< 0 repeats: not measured
  MedianInterval ratio;         ///< measured time over the original's, paired
};

struct ModelReport {
  std::string name;
  std::string path;
  int64_t nodes = 0;
  Cost initial;
  int64_t weight_bytes = 0;
  std::vector<MethodRun> runs;
  std::vector<MethodBest> best;  ///< per method, in the order of the methods; no-op first
};

/// One row of the learning curves.
struct LearningRow {
  int64_t update = 0;
  std::map<std::string, double> values;
};

struct EvaluationReport {
  std::string policy_file;
  std::string cost_source;
  CostModel::Counters costs;             ///< of that source, over the whole evaluation
  std::optional<MachineInfo> machine;    ///< where graphs were measured, if they were
  std::vector<std::string> rules;  ///< names, by index
  std::vector<ModelReport> models;
  std::vector<LearningRow> learning;  ///< metrics of the run that trained the policy, if they lie there
  std::map<std::string, int64_t> policy_counters;
  EvaluationConfig config;
};

struct EvaluationInputs {
  std::string path;
  std::string name;  ///< of the model in reports and of its results' files; no other model's
  const ImportedModel& model;
  std::shared_ptr<const RuleSet> rules;
  std::shared_ptr<CostModel> cost;
  TrainedPolicy policy;
  RewriteEnvConfig env;
  std::string directory;  ///< of the report; the models go to `models` below it
  uint64_t seed = 0;
  std::function<void(const std::string&)> say;  ///< what is being done
};

/// Runs policy (greedy; sampled; where asked for, as a guide of beam search and of tree search), random at the sampled policy's time, greedy, rule lists and
/// backtracking on one model, verifies, exports and measures the best of each. InputError when a
/// result disagrees with the original.
ModelReport evaluate_model(const EvaluationInputs& inputs, const EvaluationConfig& config);

}  // namespace reverie
