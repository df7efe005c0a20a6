#include "core/base/compact.h"

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace reverie {
namespace {

TEST(CompactInts, HoldsWhatWasPutInAtTheLeastWidth) {
  Rng rng(2);
  for (const uint32_t limit : {200u, 60000u, 4000000000u}) {
    CompactInts ints;
    std::vector<uint32_t> expected;
    for (int i = 0; i < 500; ++i) {
      expected.push_back(static_cast<uint32_t>(rng.below(i < 250 ? 100 : limit)));
      ints.push_back(expected.back());
    }
    EXPECT_EQ(ints.width(), limit > 65535 ? 4 : limit > 255 ? 2 : 1);
    ASSERT_EQ(ints.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(ints[i], expected[i]);
  }
}

TEST(CompactInts, ZigzagIsUndone) {
  for (const int32_t value : {0, -1, 1, -2, 1000, -1000, 2147483647, -2147483647 - 1})
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  EXPECT_EQ(zigzag(-1), 1u);
}

}  // namespace
}  // namespace reverie
