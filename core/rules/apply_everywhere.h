#pragma once

#include <cstdint>
#include <vector>

#include "core/rules/rewrite_state.h"

namespace reverie {

struct ApplyLimits {
  int rounds = 16;
  /// The graph may become so large, or a single rewrite larger.
  int nodes = 10'000;
};

struct Applied {
  enum class End { kNoMatch, kRounds, kNodes };
  End end = End::kNoMatch;     ///< what it ended by
  std::vector<int64_t> taken;  ///< how often, by rule
  int64_t matches_left = 0;    ///< so many locations the rules still have
};

/// Takes the state's rules, one after the other, wherever they match and whatever that costs, and
/// begins anew until none matches or a limit is reached, so that rules that undo themselves or each
/// other, and rules that make the graph grow, end too. In a round a rule is taken at most as often
/// as it had locations at first.
Applied apply_everywhere(RewriteState& state, const ApplyLimits& limits);

}  // namespace reverie
