#include "tools/adapt_policy.h"

#include <fmt/format.h>

#include <algorithm>

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

/// The plan that M expects most of, or where jobs may be tried Thompson sampling among those of
/// which it expects much.
class DreamtPlans : public AdaptLearner {
 public:
  explicit DreamtPlans(TrainedPolicy policy)
      : AdaptLearner("policy", "the best plan of its dreams, or Thompson sampling among them"),
        policy_(std::move(policy)) {}

  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    const auto find = [&](const AdaptStart& start, int episodes, uint64_t seed) {
      const std::vector<ExpectedPlan> plans = dreamt_plans(policy_, start, seed);
      if (episodes > 0) return thompson_among(plans, start, episodes, seed);
      return std::ranges::max(plans, {}, &ExpectedPlan::gain).decisions;
    };
    return play_found(adapt_task(task), find, limits);
  }

 private:
  TrainedPolicy policy_;
};

/// Why its dreams tell nothing of these jobs; empty where they do.
std::string why_no_dreams(const std::string& file, const EnvSpec& known, const EnvSpec& jobs) {
  if (config_of(file).reward != AdaptReward::kAccuracy)
    return "learned from another reward than accuracy, which trials are compared by";
  if (jobs.horizon > known.horizon)
    return fmt::format("its dreams end after {} decisions, and these jobs have {}", known.horizon,
                       jobs.horizon);
  return "";
}

std::shared_ptr<const Solver> solver_for(const std::string& file, bool tries, const Tasks& tasks) {
  TrainedPolicy policy = policy_for(file, tasks);
  const std::string lacking = why_no_dreams(file, policy.spec(), tasks.spec());
  if (tries && !lacking.empty()) throw InputError("{}: {}; leave out --episodes", file, lacking);
  if (tries || (lacking.empty() && dreams_in_grey_box(policy, tasks.spec())))
    return std::make_shared<DreamtPlans>(std::move(policy));
  return std::make_shared<PolicySolver>(std::move(policy), /*greedy=*/true);
}

const bool kAdaptPolicyThere =
    adapt_config_of_policy.is(config_of) && policy_solver_for.is(solver_for);

}  // namespace
}  // namespace reverie
