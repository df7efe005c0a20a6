#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cost/machine.h"
#include "core/onnx/import.h"
#include "env/registry/registry.h"

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
struct RewriteEvaluationContext {
  std::shared_ptr<const RuleSet> rules;
  std::shared_ptr<CostModel> cost;
  RewriteEnvConfig environment;
  RewriteEvaluationConfig how;
  EvaluationPlan plan;
};

/// One model. Results are compared with the original on random inputs and written as ONNX.
class RewriteCase : public EvaluationCase {
 public:
  /// `name`: of the model in the report and of its results' files.
  RewriteCase(std::string path, std::string name, ImportedModel model,
              std::shared_ptr<const RewriteEvaluationContext> context);

  std::unique_ptr<Environment> make() const override;
  /// Random, greedy, rule lists and backtracking (core/search/search.h).
  std::vector<EvaluationMethod> baselines() const override;
  std::optional<EnvCounters> shared_counters() const override;
  std::shared_ptr<const Solution> solution(const Environment& played) const override;
  bool equal(const Solution& a, const Solution& b) const override;
  /// In "models" below the directory. InputError as by `reverie optimize`.
  Artifact write(const Solution& solution, const std::string& method,
                 const std::string& directory) const override;
  Measurements measure(std::span<const std::shared_ptr<const Solution>> solutions,
                       int64_t rounds) const override;
  /// Columns: rewrites, weights beside the original's, largest relative error.
  CaseDescription describe(std::span<const FinishedMethod> methods) const override;

  /// Any search as a method, from this model on, by these options but the seed and the time limit.
  EvaluationMethod method(const std::string& name, SearchMethod search,
                          const SearchOptions& options, const std::string& budget) const;
  const std::shared_ptr<const RuleSet>& rules() const { return context_->rules; }
  /// Of what can be written of this model.
  const std::shared_ptr<CostModel>& cost() const { return cost_; }
  const RewriteEvaluationContext& context() const { return *context_; }

 private:
  RewriteState fresh_start() const { return {model_.graph, context_->rules, cost_}; }
  std::vector<double> run_times_along(const std::vector<RewriteStep>& path) const;
  std::vector<std::string> sentences(std::span<const FinishedMethod> methods) const;
  std::string running_costs(std::span<const FinishedMethod> methods) const;

  std::string path_, name_;
  ImportedModel model_;
  std::shared_ptr<const RewriteEvaluationContext> context_;
  std::shared_ptr<CostModel> cost_;
};

/// One case for each input of the configuration. A reward that measures is replaced by the
/// estimated one. InputError for a model that cannot be read, and where the machine that measures
/// is not there.
std::unique_ptr<EvaluationCases> rewrite_cases(const EnvironmentConfig& config,
                                               const RewriteEvaluationConfig& how,
                                               const EvaluationPlan& plan);

}  // namespace reverie
