#pragma once

#include "core/rules/match_store.h"
#include "core/rules/matcher.h"
#include "core/rules/node_order.h"

namespace reverie {

/// Whether something that the replacement reads is computed from what it replaces. Looks at what
/// lies between the two in the order of nodes.
bool makes_cycle(const Graph& graph, const NodeOrder& order, const MatchRule& rule,
                 const StoredMatch& match);

}  // namespace reverie
