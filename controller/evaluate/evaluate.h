#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "controller/train/trained_policy.h"
#include "core/base/config.h"
#include "datasets/history.h"
#include "env/solver.h"
#include "worldmodel/memory/open_loop.h"

namespace reverie {

/// How a policy is compared with other methods.
struct EvaluationConfig {
  int64_t seeds = 3;
  int64_t samples = 16;
  double horizons = 1;
  Measuring measure = Measuring::kAuto;
  int64_t rounds = 30;

  template <class V>
  void fields(V& v) {
    v.field("seeds", seeds, "Seeds of each method that draws", at_least(1));
    v.field("samples", samples, "Episodes that the sampled policy plays", at_least(1));
    v.field(
        "horizons", horizons,
        "Episodes end after so many horizons of the environment; 2 where it is much larger than "
        "those of training, so that one may end before the policy is done",
        between(1, 100));
    v.field(
        "measure", measure,
        "Measure starts and results end to end, where that can be done: always, never, or auto: "
        "where costs or rewards are measured on this machine, or one is named");
    v.field("rounds", rounds, "Interleaved rounds of these measurements", at_least(2));
  }
};

/// One run of one method from one start state.
struct MethodRun {
  std::string method;
  uint64_t seed = 0;
  double best = 0;  ///< objective of the best feasible state; EnvSpec::worst(): none was
  double improvement_percent = 0;
  double seconds = 0;
  int64_t steps = 0;
  int64_t candidates = 0;
  int64_t cost_lookups = 0;
  int64_t measurements = 0;
  std::vector<BestSoFar> trace;
};

/// The best run of a method, and what was made of it.
struct MethodBest {
  std::string method;
  std::string budget;  ///< what it was given, for a person; may be empty
  uint64_t seed = 0;
  double best = 0;
  std::vector<double> metrics;
  Artifact artifact;
  MeasuredResult measured;
};

struct StartReport {
  std::string name;
  double initial = 0;           ///< objective of the start state
  std::vector<double> metrics;  ///< of the start state
  std::vector<MethodRun> runs;
  std::vector<MethodBest> best;  ///< per method, in the order of the methods; no-op first
  TaskDescription described;
};

/// One row of the learning curves.
struct LearningRow {
  int64_t update = 0;
  std::map<std::string, double> values;
};

/// How well M predicts what it was not trained on, as the step that trained it measured.
struct WorldQuality {
  /// Of validation, weighted: "loss", "latent"; empty: not recorded.
  std::map<std::string, double> losses;
  std::vector<OpenLoopRow> open_loop;  ///< empty: not recorded
};

struct EvaluationReport {
  std::string policy_file;
  uint64_t seed = 0;                  ///< of the evaluation
  std::vector<std::string> versions;  ///< of programs and libraries that took part, by name
  History history;                    ///< of the policy; a step that it lacks is not recorded
  WorldQuality world;
  EnvSpec spec;                        ///< of the environment
  std::string estimated_by;            ///< Tasks::estimated_by
  std::vector<std::string> sentences;  ///< the environment's
  std::vector<StartReport> starts;
  std::vector<LearningRow>
      learning;  ///< metrics of the run that trained the policy, if they lie there
  std::map<std::string, int64_t> policy_counters;
  EvaluationConfig config;
};

/// What a policy's file says of it and of M; `history`: what lies beside it. Where that lacks
/// dream_train, the file's counters tell the real work until the policy was kept.
void add_policy_record(EvaluationReport& report, const Checkpoint& policy, History history);

struct EvaluationInputs {
  TrainedPolicy policy;
  std::string directory;  ///< of the report
  uint64_t seed = 0;
  SolverSettings settings;
  std::function<void(const std::string&)> say;  ///< what is being done
};

/// Runs no-op, the policy (greedy; sampled) and the others, as far as they suit, on one task. Lets
/// the environment verify, write and measure the best of each. InputError when a result is wrong.
StartReport evaluate_start(const Task& task, std::span<const ChosenSolver> others,
                           const EvaluationInputs& inputs, const EvaluationConfig& config);

}  // namespace reverie
