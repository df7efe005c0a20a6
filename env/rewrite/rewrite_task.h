#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cost/machine.h"
#include "core/onnx/import.h"
#include "env/rewrite/rewrite_config.h"
#include "env/task.h"

namespace reverie {

/// A rewritten graph and the steps that lead to it from the start.
struct RewriteSolution : Solution {
  RewriteSolution(Graph graph, const Cost& cost, std::vector<RewriteStep> rewrites);

  Graph graph;
  uint64_t hash = 0;  ///< of the graph, StructuralHash
  Cost cost;
  std::vector<RewriteStep> rewrites;
};

/// What all models of an evaluation share.
struct RewriteTaskContext {
  std::shared_ptr<const RuleSet> rules;
  std::shared_ptr<CostModel> cost;
  RewriteEnvConfig environment;
  RewriteTaskConfig how;
  TaskPlan plan;

  /// Why results are not measured, for a person; empty: they are.
  std::string unmeasured() const;
};

/// One model. Results are compared with the original on random inputs and written as ONNX.
class RewriteTask : public Task {
 public:
  /// `name`: of the model in the report and of its results' files.
  RewriteTask(std::string path, std::string name, ImportedModel model,
              std::shared_ptr<const RewriteTaskContext> context);

  std::unique_ptr<Environment> environment() const override;
  bool has_problem() const override { return true; }
  /// A RewriteProblem: of the whole graph, without an end.
  std::shared_ptr<const Problem> problem() const override;
  Result result(const Problem& start, SearchOutcome found) const override;
  std::optional<EnvCounters> shared_counters() const override;
  std::shared_ptr<const Solution> solution(const Environment& played) const override;
  bool equal(const Solution& a, const Solution& b) const override;
  /// In "models" below the directory. InputError as by `reverie optimize`.
  Artifact write(const Solution& solution, const std::string& solver,
                 const std::string& directory) const override;
  Measurements measure(std::span<const std::shared_ptr<const Solution>> solutions,
                       int64_t rounds) const override;
  /// Columns: rewrites, weights beside the original's, largest relative error.
  TaskDescription describe(std::span<const Solved> solved) const override;

  /// As it begins, with nothing looked up.
  RewriteState fresh_start() const { return {model_.graph, context_->rules, cost_}; }
  const std::shared_ptr<const RuleSet>& rules() const { return context_->rules; }
  /// Of what can be written of this model.
  const std::shared_ptr<CostModel>& cost() const { return cost_; }
  const RewriteTaskContext& context() const { return *context_; }

 private:
  std::vector<double> run_times_along(const std::vector<RewriteStep>& path) const;
  std::vector<std::string> sentences(std::span<const Solved> solved) const;
  std::string running_costs(std::span<const Solved> solved) const;

  std::string path_, name_;
  ImportedModel model_;
  std::shared_ptr<const RewriteTaskContext> context_;
  std::shared_ptr<CostModel> cost_;
};

/// What a search over rewrites found.
Result rewrite_result(SearchResult found);

}  // namespace reverie
