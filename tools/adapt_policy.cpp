#include "tools/adapt_policy.h"

#include <fmt/format.h>

#include "controller/evaluate/policy_solver.h"
#include "core/base/error.h"
#include "env/adapt/adapt_task.h"
#include "env/translated.h"
#include "tools/policy/adapt_dreams.h"
#include "tools/policy/policy_environment.h"

namespace reverie {
namespace {

AdaptConfig config_of(const std::string& file) {
  return environment_of_policy<AdaptConfig>(file, "training networks");
}

/// Says which actions of the cases it does not know.
TrainedPolicy policy_for(const std::string& file, const Tasks& tasks) {
  TrainedPolicy policy = load_trained_policy(file);
  with_context(file, [&] { require_names(policy.spec(), tasks.spec()); });
  const std::string unknown = unknown_actions(policy.spec(), tasks.spec());
  if (!unknown.empty()) fmt::print(stderr, "{}: {}\n", file, unknown);
  return policy;
}

/// Thompson sampling among plans that M expects much of.
class DreamtPlans : public AdaptLearner {
 public:
  explicit DreamtPlans(TrainedPolicy policy)
      : AdaptLearner("policy", "Thompson sampling among plans of its dreams"),
        policy_(std::move(policy)) {}

  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    const auto find = [&](const AdaptStart& start, int episodes, uint64_t seed) {
      return thompson_among(dreamt_plans(policy_, start, seed), start, episodes, seed);
    };
    return play_found(adapt_task(task), find, limits);
  }

 private:
  TrainedPolicy policy_;
};

/// InputError where its dreams tell nothing of these jobs.
void require_dreams(const std::string& file, const TrainedPolicy& policy, const Tasks& tasks) {
  if (config_of(file).reward != AdaptReward::kAccuracy)
    throw InputError(
        "{}: learned from another reward than accuracy, which trials are compared by; "
        "leave out --episodes",
        file);
  if (tasks.spec().horizon > policy.spec().horizon)
    throw InputError(
        "{}: its dreams end after {} decisions, and these jobs have {}; leave out "
        "--episodes",
        file, policy.spec().horizon, tasks.spec().horizon);
}

std::shared_ptr<const Solver> solver_for(const std::string& file, bool tries, const Tasks& tasks) {
  TrainedPolicy policy = policy_for(file, tasks);
  if (!tries) return std::make_shared<PolicySolver>(std::move(policy), /*greedy=*/true);
  require_dreams(file, policy, tasks);
  return std::make_shared<DreamtPlans>(std::move(policy));
}

const bool kAdaptPolicyThere =
    adapt_config_of_policy.is(config_of) && policy_solver_for.is(solver_for);

}  // namespace
}  // namespace reverie
