#pragma once

#include <memory>
#include <string>

#include "controller/guided_options.h"
#include "controller/policy.h"
#include "core/search/search.h"
#include "env/registry/registry.h"
#include "worldmodel/encoder.h"
#include "worldmodel/world_model.h"

namespace reverie {

/// V, M and C of a policy file.
struct TrainedPolicy {
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<WorldModel> world;
  std::shared_ptr<Policy> policy;
  /// Of the environment that the policy was trained on, defaults where its file does not say.
  EnvironmentConfig environment = {};
};

/// InputError, naming the file, when it holds no policy.
TrainedPolicy load_trained_policy(const std::string& path, torch::Device device = torch::kCPU);

/// How a policy searches.
struct PolicySearchConfig {
  RewriteEnvConfig env;
  bool greedy = true;     ///< by episodes: play one greedy episode first
  int64_t episodes = -1;  ///< sampled episodes after it; below 0: the budget of the search
  /// Of these at once, at most. Where time is limited the first is played alone, then two, four and so
  /// on, since those that are played at once end at about the same time, perhaps too late.
  int64_t batch = 16;
  GuidedSearchOptions guided = {};  ///< `horizons` holds for episodes too
};

/// A trained policy as a search method. By episodes: the best state of its episodes on the real
/// graph; where weights are bounded, the best one within the bound, which an episode may leave. An
/// expansion is a step; episodes that are played at once take theirs on options.threads threads. By beam
/// and mcts: see controller/policy_search.h. `rules` and `cost` must be those of the state that is searched
/// from. InputError when the policy was trained for other rules, or gives no probabilities of all actions
/// to guide by.
SearchMethod policy_method(TrainedPolicy policy, std::shared_ptr<const RuleSet> rules,
                           std::shared_ptr<CostModel> cost, const PolicySearchConfig& config);

}  // namespace reverie
