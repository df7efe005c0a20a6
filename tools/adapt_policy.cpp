#include "tools/adapt_policy.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "tools/learning.h"
#ifdef REVERIE_LEARNING
#include "controller/evaluate/evaluate.h"
#include "env/registry/registry.h"
#include "env/translated.h"
#include "tools/policy/adapt_dreams.h"
#include "worldmodel/network/checkpoint.h"
#endif

namespace reverie {

#ifdef REVERIE_LEARNING
AdaptConfig adapt_config_of_policy(const std::string& file) {
  const Checkpoint checkpoint = load_checkpoint(file, "policy");
  if (checkpoint.spec.name != "adapt")
    throw InputError("{}: is a policy for the environment '{}', not for training networks", file,
                     checkpoint.spec.name);
  const auto environment = checkpoint.configs.find("environment");
  return environment == checkpoint.configs.end() ? AdaptConfig()
                                                 : environment_from(environment->second).adapt;
}

namespace {

/// Says which actions of the cases it does not know.
TrainedPolicy policy_for(const std::string& file, const EvaluationCases& cases) {
  TrainedPolicy policy = load_trained_policy(file);
  with_context(file, [&] { require_names(policy.spec(), cases.spec()); });
  const std::string unknown = unknown_actions(policy.spec(), cases.spec());
  if (!unknown.empty()) fmt::print(stderr, "{}: {}\n", file, unknown);
  return policy;
}

}  // namespace

EvaluationMethod policy_method_for(const std::string& file, const EvaluationCases& cases) {
  return policy_episodes(*cases.cases().front(), policy_for(file, cases), /*greedy=*/true, 1);
}

AdaptSearch policy_search_for(const std::string& file, const EvaluationCases& cases) {
  if (adapt_config_of_policy(file).reward != AdaptReward::kAccuracy)
    throw InputError(
        "{}: learned from another reward than accuracy, which trials are compared by; "
        "leave out --episodes",
        file);
  const TrainedPolicy policy = policy_for(file, cases);
  if (cases.spec().horizon > policy.spec().horizon)
    throw InputError(
        "{}: its dreams end after {} decisions, and these jobs have {}; leave out "
        "--episodes",
        file, policy.spec().horizon, cases.spec().horizon);
  return [policy](const AdaptStart& start, int episodes, uint64_t seed) {
    return thompson_among(dreamt_plans(policy, start, seed), start, episodes, seed);
  };
}
#else
AdaptConfig adapt_config_of_policy(const std::string&) { leave_to_learning_program("--policy"); }

EvaluationMethod policy_method_for(const std::string&, const EvaluationCases&) { return {}; }
AdaptSearch policy_search_for(const std::string&, const EvaluationCases&) { return {}; }
#endif

}  // namespace reverie
