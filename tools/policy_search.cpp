#include "tools/policy_search.h"

#include "core/base/error.h"
#ifdef REVERIE_LEARNING
#include "controller/policy_method.h"
#endif

namespace reverie {

#ifdef REVERIE_LEARNING
SearchMethod method_of_policy(const std::string& file, const GuidedSearchOptions& guided,
                              std::shared_ptr<const RuleSet> rules,
                              std::shared_ptr<CostModel> cost) {
  if (file.empty()) throw InputError("--method policy needs --policy FILE");
  TrainedPolicy trained = load_trained_policy(file);
  PolicySearchConfig config{.env = trained.environment};
  config.guided = guided;
  return policy_method(std::move(trained), std::move(rules), std::move(cost), config);
}
#else
SearchMethod method_of_policy(const std::string&, const GuidedSearchOptions&,
                              std::shared_ptr<const RuleSet>, std::shared_ptr<CostModel>) {
  throw InputError("--method policy: this program was built without LibTorch");
}
#endif

}  // namespace reverie
