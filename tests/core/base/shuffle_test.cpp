#include "core/base/shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace reverie {
namespace {

TEST(Shuffle, AllOrdersAreEquallyLikely) {
  constexpr int kDraws = 60000;
  std::map<std::vector<int>, int> seen;
  Rng rng(1);
  for (int i = 0; i < kDraws; ++i) {
    std::vector<int> values{1, 2, 3};
    shuffle(std::span(values), rng);
    ++seen[values];
  }
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [order, count] : seen)
    EXPECT_NEAR(count, kDraws / 6, 500) << testing::PrintToString(order);  // 5 standard deviations
}

TEST(Shuffle, EqualStatesOfTheGeneratorGiveEqualOrders) {
  std::vector<int> one{1, 2, 3, 4, 5, 6, 7, 8}, other = one;
  Rng rng(7), same(7);
  shuffle(std::span(one), rng);
  shuffle(std::span(other), same);
  EXPECT_EQ(one, other);
  EXPECT_THAT(one, testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(Shuffle, OfOneValueOrNoneDrawsNothing) {
  std::vector<int> one{1}, none;
  Rng rng(7);
  shuffle(std::span(one), rng);
  shuffle(std::span(none), rng);
  EXPECT_EQ(rng.state(), Rng(7).state());
}

}  // namespace
}  // namespace reverie
