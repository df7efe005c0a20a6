#pragma once

#include <vector>

#include "core/base/forced_order.h"
#include "env/rewrite/search/rewrite_problem.h"

namespace reverie {

/// An order in which all rules are applied. A forced one is applied at first wherever it matches,
/// whatever that costs.
using RuleList = ForcedOrder;

/// Applies a list to the start: each rule in turn wherever it gains, or, where it is forced,
/// wherever it matches; then all are repeated where they gain, until none does. Where that ends.
Walk run_list(SearchRun& run, const RuleList& list);

}  // namespace reverie
