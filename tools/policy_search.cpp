#include "tools/policy_search.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "tools/learning.h"
#ifdef REVERIE_LEARNING
#include "env/kind.h"
#include "env/rewrite/rewrite_config.h"
#include "tools/policy/policy_method.h"
#include "worldmodel/network/checkpoint.h"
#endif

namespace reverie {

std::string warning_of_costs(const std::string& file, const std::string& trained,
                             const std::string& given) {
  if (given == trained) return {};
  return fmt::format("warning: {} was trained with costs by {}, not {}", file, trained, given);
}

#ifdef REVERIE_LEARNING
std::string cost_source_of_policy(const std::string& file) {
  const EnvSpec spec = load_checkpoint(file, "policy").spec;
  if (spec.name != "rewrite")
    throw InputError("{}: is a policy for the environment '{}', not for rewriting models", file,
                     spec.name);
  return spec.source;
}

SearchMethod method_of_policy(const std::string& file, const LearnedMethodsConfig& learned,
                              std::shared_ptr<const RuleSet> rules,
                              std::shared_ptr<CostModel> cost) {
  if (file.empty()) throw InputError("--method policy needs --policy FILE");
  TrainedPolicy trained = load_trained_policy(file);
  PolicySearchConfig config{
      .env = environment_from(trained.environment).of<RewriteConfig>().environment};
  if (config.env.reward == RewardKind::kMeasuredEveryK) config.env.reward = RewardKind::kRuntime;
  config.guided = learned.policy;
  return policy_method(std::move(trained), std::move(rules), std::move(cost), config);
}

SearchMethod method_of_ppo(const LearnedMethodsConfig& config, const MeasuredOptions& measured,
                           NewTimer new_timer) {
  torch::set_num_threads(1);
  return measured_search(ppo_on_measurements(config.ppo), measured, std::move(new_timer));
}
#else
std::string cost_source_of_policy(const std::string&) { leave_to_learning_program("--policy"); }

SearchMethod method_of_policy(const std::string&, const LearnedMethodsConfig&,
                              std::shared_ptr<const RuleSet>, std::shared_ptr<CostModel>) {
  leave_to_learning_program("--method policy");
}

SearchMethod method_of_ppo(const LearnedMethodsConfig&, const MeasuredOptions&, NewTimer) {
  leave_to_learning_program("--method ppo");
}
#endif

}  // namespace reverie
