#pragma once

#include <vector>

#include "core/base/random.h"
#include "env/environment.h"

namespace reverie::testing {

/// Uniform over the valid primary actions, then over their choices. NO-OP is taken where nothing
/// else is valid, and otherwise with probability `no_op`.
inline Action random_action(const ActionMask& mask, Rng& rng, double no_op = 0.0) {
  const int last = mask.primary_actions() - 1;
  std::vector<int> valid;
  for (int primary = 0; primary < last; ++primary)
    if (mask.total(primary) > 0) valid.push_back(primary);
  if (valid.empty() || rng.uniform() < no_op) return {last, 0, 0};
  const int primary = valid[rng.below(valid.size())];
  const auto choices = static_cast<uint64_t>(mask.total(primary));
  return mask.choice(primary, static_cast<int>(rng.below(choices)));
}

}  // namespace reverie::testing
