#include "datasets/compact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/random.h"

namespace reverie {
namespace {

TEST(Half, EveryFiniteHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = float_from_half(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(half_from_float(value), half);
  }
}

TEST(Half, RoundsToTheNearest) {
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = static_cast<float>(rng.uniform(-1, 1) * std::exp2(rng.uniform(-26, 15.9)));
    const uint16_t half = half_from_float(value);
    const double error = std::abs(float_from_half(half) - double{value});
    for (const int step : {-1, 1}) {
      const float other = float_from_half(static_cast<uint16_t>(half + step));
      if (!std::isfinite(other)) continue;
      EXPECT_LE(error, std::abs(other - double{value})) << value;
    }
  }
}

TEST(Half, TiesGoToTheEvenAndLargeValuesToInfinity) {
  EXPECT_EQ(float_from_half(half_from_float(2049)), 2048);
  EXPECT_EQ(float_from_half(half_from_float(2051)), 2052);
  EXPECT_EQ(float_from_half(half_from_float(65504)), 65504);
  EXPECT_EQ(float_from_half(half_from_float(65520)), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float_from_half(half_from_float(std::nanf("")))));
}

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
