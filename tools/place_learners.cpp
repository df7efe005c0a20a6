#include "tools/place_learners.h"

#include "core/base/error.h"
#include "tools/learning.h"
#ifdef REVERIE_LEARNING
#include <optional>

#include "controller/agents/learner.h"
#include "controller/evaluate/policy_solver.h"
#include "env/kind.h"
#include "env/placement/placement_task.h"
#include "env/placement/search/local_search.h"
#include "env/placement/simulator/grouping.h"
#include "worldmodel/network/checkpoint.h"
#endif

namespace reverie {

#ifdef REVERIE_LEARNING
PlaceMethod saved_learner_method(const std::string& file) {
  load_learner(file, 0);  // refused before anything is done
  return {file, "learned from other graphs", [file](Evaluator& evaluator, uint64_t seed) {
            const SavedLearner saved = load_learner(file, seed);
            saved.learner->place(evaluator);
            Evaluator* const one[] = {&evaluator};
            if (!evaluator.spent()) saved.learner->learn(one);
          }};
}

namespace {

bool register_learners() {
  for (const LearnerKind& kind : learner_kinds())
    register_solver<PlacementSolver>(single_graph_method(kind));
  return true;
}

const bool kRegistered = register_learners();

PlacementConfig config_of_policy(const std::string& file) {
  const Checkpoint checkpoint = load_checkpoint(file, "policy");
  if (checkpoint.spec.name != "placement")
    throw InputError("{}: is a policy for the environment '{}', not for placing graphs", file,
                     checkpoint.spec.name);
  const auto environment = checkpoint.configs.find("environment");
  return environment == checkpoint.configs.end()
             ? PlacementConfig()
             : environment_from(environment->second).of<PlacementConfig>();
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

}  // namespace

PlaceMethod policy_method(const std::string& file) {
  const PlacementConfig config = config_of_policy(file);
  return {file, "a policy, then local search",
          [policy = load_trained_policy(file), config](Evaluator& evaluator, uint64_t seed) {
            play_policy(policy, config, evaluator, seed);
            if (!evaluator.spent()) local_search(evaluator, Placement(evaluator.best()), Rng(seed));
          }};
}
#else
PlaceMethod saved_learner_method(const std::string& file) { leave_to_learning_program(file); }

PlaceMethod policy_method(const std::string& file) { return saved_learner_method(file); }
#endif

}  // namespace reverie
