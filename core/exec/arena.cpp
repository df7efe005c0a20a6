#include "core/exec/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace reverie {
namespace {

struct Placed {
  int64_t offset;
  int64_t end;
  Lifetime life;
};

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// `placed` ascends by offset.
int64_t best_offset(const std::vector<Placed>& placed, const Lifetime& block, int64_t bytes) {
  int64_t best = -1;
  int64_t best_gap = std::numeric_limits<int64_t>::max();
  int64_t free_from = 0;
  for (const Placed& other : placed) {
    if (!overlap(other.life, block)) continue;
    const int64_t gap = other.offset - free_from;
    if (gap >= bytes && gap < best_gap) {
      best = free_from;
      best_gap = gap;
    }
    free_from = std::max(free_from, other.end);
  }
  return best >= 0 ? best : free_from;
}

}  // namespace

ArenaLayout plan_arena(std::span<const Lifetime> blocks, int64_t alignment) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  ArenaLayout layout{.offsets = std::vector<int64_t>(blocks.size()), .bytes = 0};
  std::vector<Placed> placed;
  for (const size_t i : order) {
    const int64_t bytes = (blocks[i].bytes + alignment - 1) / alignment * alignment;
    const int64_t offset = best_offset(placed, blocks[i], bytes);
    layout.offsets[i] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    const Placed entry{offset, offset + bytes, blocks[i]};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
        entry);
  }
  return layout;
}

}  // namespace reverie
