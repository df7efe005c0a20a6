#pragma once

#include <memory>
#include <string>

#include "controller/guided_options.h"
#include "core/search/search.h"

namespace reverie {

/// A trained policy as a search method, in an environment of the settings that it was trained in: its
/// greedy episode, then as many sampled ones as the budget says, or a search that it guides. InputError
/// when `file` is empty or holds no policy, and where this program was built without LibTorch.
SearchMethod method_of_policy(const std::string& file, const GuidedSearchOptions& guided,
                              std::shared_ptr<const RuleSet> rules,
                              std::shared_ptr<CostModel> cost);

}  // namespace reverie
