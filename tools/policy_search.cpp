#include "tools/policy_search.h"

#include "core/base/error.h"
#include "env/kind.h"
#include "env/rewrite/rewrite_config.h"
#include "tools/policy/measured_ppo.h"
#include "tools/policy/policy_method.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie {
namespace {

std::string cost_source_of(const std::string& file) {
  const EnvSpec spec = load_checkpoint(file, "policy").spec;
  if (spec.name != "rewrite")
    throw InputError("{}: is a policy for the environment '{}', not for rewriting models", file,
                     spec.name);
  return spec.source;
}

SearchMethod by_policy(const std::string& file, const GuidedSearchOptions& guided,
                       std::shared_ptr<const RuleSet> rules, std::shared_ptr<CostModel> cost) {
  if (file.empty()) throw InputError("--method policy needs --policy FILE");
  TrainedPolicy trained = load_trained_policy(file);
  PolicySearchConfig config{
      .env = environment_from(trained.environment).of<RewriteConfig>().environment};
  if (config.env.reward == RewardKind::kMeasuredEveryK) config.env.reward = RewardKind::kRuntime;
  config.guided = guided;
  return policy_method(std::move(trained), std::move(rules), std::move(cost), config);
}

SearchMethod by_ppo(const ConfigSections& settings, const MeasuredOptions& measured,
                    NewTimer new_timer) {
  torch::set_num_threads(1);
  return measured_search(ppo_on_measurements(settings.of<MeasuredPpoConfig>("ppo")), measured,
                         std::move(new_timer));
}

bool add_measured_ppo() {
  learned_methods.add<MeasuredPpoConfig>("ppo", "The agent that learns from measurements (ppo)");
  return method_of_ppo.is(by_ppo);
}

const bool kPolicySearchThere = cost_source_of_policy.is(cost_source_of) &&
                                method_of_policy.is(by_policy) && add_measured_ppo();

}  // namespace
}  // namespace reverie
