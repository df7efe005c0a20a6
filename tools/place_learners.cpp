#include "tools/place_learners.h"

#include "controller/agents/learner.h"
#include "controller/evaluate/policy_solver.h"
#include "core/base/error.h"
#include "env/placement/placement_solver.h"
#include "env/placement/placement_task.h"
#include "env/placement/search/methods.h"
#include "env/placement/simulator/grouping.h"
#include "tools/policy/policy_environment.h"

namespace reverie {
namespace {

PlaceMethod placed_by_learner(const std::string& file) {
  load_learner(file, 0);  // refused before anything is done
  return {file, "learned from other graphs", [file](Evaluator& evaluator, uint64_t seed) {
            const SavedLearner saved = load_learner(file, seed);
            saved.learner->place(evaluator);
            Evaluator* const one[] = {&evaluator};
            if (!evaluator.spent()) saved.learner->learn(one);
          }};
}

bool register_learners() {
  for (const LearnerKind& kind : learner_kinds())
    register_solver<PlacementSolver>(single_graph_method(kind));
  return true;
}

/// InputError where a policy fuses and the evaluator does not.
void require_fusion(const PlacementConfig& config, const Evaluator& evaluator) {
  if (config.environment.fusion && evaluator.fusion().empty())
    throw InputError("the policy also fuses operators; name --fuse");
}

/// Plays an episode, and has the evaluator know its best state.
void play_policy(const TrainedPolicy& policy, const PlacementConfig& config, Evaluator& evaluator,
                 uint64_t seed) {
  require_fusion(config, evaluator);
  const CostGraph& graph = evaluator.graph();
  std::vector<PlacementStart> starts{
      {graph.name(), grouped(graph, config.max_groups), evaluator.measure()}};
  const auto tasks =
      placement_tasks(std::make_unique<PlacementEnvironment>(
                          std::move(starts), evaluator.topology(), config.environment),
                      {graph}, {});
  const Result played =
      PolicySolver(policy, /*greedy=*/true)
          .run(*tasks->tasks().front(), {.seed = seed}, SolverSettings(PlacementConfig::kKind));
  evaluator.charge(evaluator.measure() ? played.work.measurements
                                       : std::max<int64_t>(played.work.cost_lookups - 1, 0));
  const auto& solution = dynamic_cast<const PlacementSolution&>(*played.solution);
  evaluator.evaluate(solution.placement, Dispatch::kInOrder);
}

PlaceMethod placed_by_policy(const std::string& file) {
  const auto config = environment_of_policy<PlacementConfig>(file, "placing graphs");
  return {file, "a policy, then the method local",
          [policy = load_trained_policy(file), config](Evaluator& evaluator, uint64_t seed) {
            play_policy(policy, config, evaluator, seed);
            if (!evaluator.spent()) place_method(place_methods(), "local").run(evaluator, seed);
          }};
}

const bool kLearnersRegistered = register_learners() &&
                                 saved_learner_method.is(placed_by_learner) &&
                                 policy_placement.is(placed_by_policy);

}  // namespace
}  // namespace reverie
