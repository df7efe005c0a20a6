#include "tools/policy_search.h"

#include "core/base/error.h"
#ifdef REVERIE_LEARNING
#include "controller/policy_method.h"
#endif

namespace reverie {

#ifdef REVERIE_LEARNING
SearchMethod method_of_policy(const std::string& file, const LearnedMethodsConfig& learned,
                              std::shared_ptr<const RuleSet> rules,
                              std::shared_ptr<CostModel> cost) {
  if (file.empty()) throw InputError("--method policy needs --policy FILE");
  TrainedPolicy trained = load_trained_policy(file);
  PolicySearchConfig config{.env = trained.environment};
  config.guided = learned.policy;
  return policy_method(std::move(trained), std::move(rules), std::move(cost), config);
}

SearchMethod method_of_ppo(const LearnedMethodsConfig& config, NewTimer new_timer) {
  torch::set_num_threads(1);
  return measured_search(ppo_on_measurements(config.ppo), std::move(new_timer));
}
#else
SearchMethod method_of_policy(const std::string&, const LearnedMethodsConfig&,
                              std::shared_ptr<const RuleSet>, std::shared_ptr<CostModel>) {
  throw InputError("--method policy: this program was built without LibTorch");
}

SearchMethod method_of_ppo(const LearnedMethodsConfig&, NewTimer) {
  throw InputError("--method ppo: this program was built without LibTorch");
}
#endif

}  // namespace reverie
