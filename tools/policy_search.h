#pragma once

#include <memory>
#include <string>

#ifdef REVERIE_LEARNING
#include "tools/policy/measured_ppo.h"
#endif
#include "env/rewrite/search/measured_search.h"
#include "tools/policy/guided_options.h"

namespace reverie {

/// Settings of the methods of `optimize` that need LibTorch.
struct LearnedMethodsConfig {
  GuidedSearchOptions policy;
#ifdef REVERIE_LEARNING
  MeasuredPpoConfig ppo;
#endif

  template <class V>
  void fields(V& v) {
    v.section("policy", policy, "How a policy searches (policy)");
#ifdef REVERIE_LEARNING
    v.section("ppo", ppo, "The agent that learns from measurements (ppo)");
#endif
  }
};

/// Where the costs came from that a policy was trained with. InputError as by method_of_policy.
std::string cost_source_of_policy(const std::string& file);

/// Said where a policy plays with costs from another source; empty where from its own.
std::string warning_of_costs(const std::string& file, const std::string& trained,
                             const std::string& given);

/// A trained policy as a search method, in an environment of the settings that it was trained in:
/// its greedy episode, then as many sampled ones as the budget says, or a search that it guides.
/// InputError when `file` is empty or holds no policy. A program without LibTorch leaves this to
/// the one that has it (tools/learning.h).
SearchMethod method_of_policy(const std::string& file, const LearnedMethodsConfig& config,
                              std::shared_ptr<const RuleSet> rules,
                              std::shared_ptr<CostModel> cost);

/// Learning from measurements (tools/policy/measured_ppo.h), likewise.
SearchMethod method_of_ppo(const LearnedMethodsConfig& config, const MeasuredOptions& measured,
                           NewTimer new_timer);

}  // namespace reverie
