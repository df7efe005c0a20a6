#pragma once

#include <vector>

#include "core/base/random.h"
#include "env/environment.h"

namespace reverie::testing {

/// Uniform over the valid primary actions, then over their secondary choices. NO-OP is taken where
/// nothing else is valid, and otherwise with probability `no_op`.
inline Action random_action(const ActionMask& mask, Rng& rng, double no_op = 0.0) {
  const int last = static_cast<int>(mask.counts.size()) - 1;
  std::vector<int> valid;
  for (int primary = 0; primary < last; ++primary)
    if (mask.counts[static_cast<size_t>(primary)] > 0) valid.push_back(primary);
  if (valid.empty() || rng.uniform() < no_op) return {last, secondary_choice(mask, last, 0)};
  const int primary = valid[rng.below(valid.size())];
  const int index = static_cast<int>(rng.below(mask.counts[static_cast<size_t>(primary)]));
  return {primary, secondary_choice(mask, primary, index)};
}

}  // namespace reverie::testing
