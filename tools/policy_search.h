#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#ifdef REVERIE_LEARNING
#include "tools/policy/measured_ppo.h"
#endif
#include "env/rewrite/search/measured_search.h"
#include "tools/learning.h"
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
inline LearningPart<std::string(const std::string& file)> cost_source_of_policy;

/// Said where a policy plays with costs from another source; empty where from its own.
inline std::string warning_of_costs(const std::string& file, const std::string& trained,
                                    const std::string& given) {
  if (given == trained) return {};
  return fmt::format("warning: {} was trained with costs by {}, not {}", file, trained, given);
}

/// A trained policy as a search method, in an environment of the settings that it was trained in:
/// its greedy episode, then as many sampled ones as the budget says, or a search that it guides.
/// InputError when `file` is empty or holds no policy.
inline LearningPart<SearchMethod(const std::string& file, const LearnedMethodsConfig& config,
                                 std::shared_ptr<const RuleSet> rules,
                                 std::shared_ptr<CostModel> cost)>
    method_of_policy;

/// Learning from measurements (tools/policy/measured_ppo.h).
inline LearningPart<SearchMethod(const LearnedMethodsConfig& config,
                                 const MeasuredOptions& measured, NewTimer new_timer)>
    method_of_ppo;

}  // namespace reverie
