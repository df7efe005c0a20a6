#pragma once

#include <cstdint>
#include <vector>

#include "core/rules/rewrite_state.h"

namespace reverie {

/// Takes the state's rules, one after the other, wherever they match and whatever that costs, and
/// begins anew until none matches or after so many rounds, so that rules that undo themselves or each
/// other end too. In a round a rule is taken at most as often as it had locations at first.
/// Returns how often each rule was taken.
std::vector<int64_t> apply_everywhere(RewriteState& state, int rounds);

}  // namespace reverie
