#include "tools/adapt_policy.h"

#include <fmt/format.h>

#include "core/base/error.h"
#ifdef REVERIE_LEARNING
#include "controller/evaluate/evaluate.h"
#include "env/registry/registry.h"
#include "env/translated.h"
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

EvaluationMethod policy_method_for(const std::string& file, const EvaluationCases& cases) {
  const TrainedPolicy policy = load_trained_policy(file);
  with_context(file, [&] { require_names(policy.spec(), cases.spec()); });
  return policy_episodes(*cases.cases().front(), policy, /*greedy=*/true, 1);
}
#else
AdaptConfig adapt_config_of_policy(const std::string&) {
  throw InputError("--policy: this program was built without LibTorch");
}

EvaluationMethod policy_method_for(const std::string&, const EvaluationCases&) { return {}; }
#endif

}  // namespace reverie
