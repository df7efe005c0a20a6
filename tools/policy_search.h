#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "core/base/config_sections.h"
#include "env/rewrite/search/measured_search.h"
#include "tools/learning.h"
#include "tools/policy/guided_options.h"

namespace reverie {

/// Of the methods of `optimize` that the program with LibTorch adds in static initializers: their
/// settings, at their defaults.
inline ConfigSections learned_methods;

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
inline LearningPart<SearchMethod(const std::string& file, const GuidedSearchOptions& guided,
                                 std::shared_ptr<const RuleSet> rules,
                                 std::shared_ptr<CostModel> cost)>
    method_of_policy;

/// Learning from measurements (tools/policy/measured_ppo.h), by the settings of learned_methods.
inline LearningPart<SearchMethod(const ConfigSections& settings, const MeasuredOptions& measured,
                                 NewTimer new_timer)>
    method_of_ppo;

}  // namespace reverie
