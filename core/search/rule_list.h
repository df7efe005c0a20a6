#pragma once

#include <vector>

#include "core/search/search_run.h"

namespace reverie {

/// An order in which all rules are applied.
struct RuleList {
  std::vector<int> order;    ///< each rule once
  std::vector<bool> forced;  ///< by rule: applied at first wherever it matches, whatever it costs
};

/// All rules in random order, a random quarter of them forced.
RuleList draw_rule_list(int rules, Rng rng);

/// Applies a list to the start: each rule in turn wherever it gains, or, where it is forced,
/// wherever it matches; then all are repeated where they gain, until none does. Where that ends.
Walk run_list(SearchRun& run, const RuleList& list);

}  // namespace reverie
