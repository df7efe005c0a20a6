#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reverie {

/// A block that is in use from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  ///< by block
  int64_t bytes = 0;
};

/// Places blocks so that those in use at the same step do not overlap: greedy by size, each in the
/// smallest gap that fits (Pisarchyk and Lee, "Efficient memory management for deep neural net
/// inference", 2020, section 5). Offsets are multiples of `alignment`.
ArenaLayout plan_arena(std::span<const Lifetime> blocks, int64_t alignment);

}  // namespace reverie
