#include "core/exec/arena.h"

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace reverie {
namespace {

TEST(Arena, BlocksAliveTogetherNeverOverlap) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> blocks;
    for (int i = 0; i < 40; ++i) {
      const int first = static_cast<int>(rng.below(30));
      blocks.push_back(
          {static_cast<int64_t>(rng.below(5000)), first, first + static_cast<int>(rng.below(6))});
    }
    const int64_t alignment = round % 2 == 0 ? 64 : 256;
    const ArenaLayout layout = plan_arena(blocks, alignment);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % alignment, 0);
      EXPECT_LE(layout.offsets[i] + blocks[i].bytes, layout.bytes);
      for (size_t j = 0; j < i; ++j) {
        if (blocks[i].first > blocks[j].last || blocks[j].first > blocks[i].last) continue;
        EXPECT_TRUE(layout.offsets[i] + blocks[i].bytes <= layout.offsets[j] ||
                    layout.offsets[j] + blocks[j].bytes <= layout.offsets[i]);
      }
    }
  }
}

TEST(Arena, AChainNeedsTwoBlocks) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({128, i, i + 1});
  EXPECT_EQ(plan_arena(chain, 64).bytes, 256);
}

}  // namespace
}  // namespace reverie
