#pragma once

#include <memory>

#include "controller/train/trained_policy.h"
#include "env/rewrite/rewrite_environment.h"
#include "env/rewrite/search/search.h"
#include "tools/policy/guided_options.h"

namespace reverie {

/// How a policy searches.
struct PolicySearchConfig {
  RewriteEnvConfig env;
  bool greedy = true;     ///< by episodes: play one greedy episode first
  int64_t episodes = -1;  ///< sampled episodes after it; below 0: the budget of the search
  /// Of these at once, at most. Where time is limited the first is played alone, then two, four and
  /// so on, since those that are played at once end at about the same time, perhaps too late.
  int64_t batch = 16;
  GuidedSearchOptions guided = {};  ///< `horizons` holds for episodes too
};

/// A trained policy as a search method. By episodes: the best state of its episodes on the real
/// graph; where weights are bounded, the best one within the bound, which an episode may leave. An
/// expansion is a step; episodes that are played at once take theirs on options.threads threads. By
/// beam: run_guided_beam with the policy as prior, over the actions of the environment, so that
/// episodes end at its horizon; no state is encoded twice, and the seed changes nothing. It begins
/// with greedy search of all rewrites (`greedy_first`), so that no result is worse where that fits
/// into the time. `rules` and `cost` must be those of the state that is searched from. InputError
/// when the policy was trained for other rules, or gives no probabilities of all actions to guide
/// by.
SearchMethod policy_method(TrainedPolicy policy, std::shared_ptr<const RuleSet> rules,
                           std::shared_ptr<CostModel> cost, const PolicySearchConfig& config);

}  // namespace reverie
