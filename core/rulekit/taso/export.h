#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/rulekit/taso/taso_rule.h"
#include "core/rules/rule.h"

namespace reverie {

struct TasoExport {
  std::vector<TasoRule> rules;
  std::vector<std::string> names;  ///< of `rules`
  /// Rules that the format cannot express, and why.
  std::vector<std::pair<std::string, std::string>> left_out;
};

/// The rules that TASO's format can state. A rule is left out when it would lose a condition, an
/// attribute or part of its structure: what is exported means the same when it is imported again,
/// except that import adds the conditions that TasoRule lists.
TasoExport export_taso_rules(const RuleSet& rules);

}  // namespace reverie
