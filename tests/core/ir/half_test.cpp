#include "core/ir/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/random.h"

namespace reverie {
namespace {

uint16_t encode(double value) { return Float16(value).bits; }

float decode(uint16_t bits) {
  Float16 half;
  half.bits = bits;
  return static_cast<float>(half);
}

TEST(Float16, EveryFiniteHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = decode(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(encode(value), half);
  }
}

TEST(Float16, RoundsToTheNearest) {
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = static_cast<float>(rng.uniform(-1, 1) * std::exp2(rng.uniform(-26, 15.9)));
    const uint16_t half = encode(value);
    const double error = std::abs(decode(half) - double{value});
    for (const int step : {-1, 1}) {
      const float other = decode(static_cast<uint16_t>(half + step));
      if (!std::isfinite(other)) continue;
      EXPECT_LE(error, std::abs(other - double{value})) << value;
    }
  }
}

TEST(Float16, TiesGoToTheEvenAndLargeValuesToInfinity) {
  EXPECT_EQ(decode(encode(2049)), 2048);
  EXPECT_EQ(decode(encode(2051)), 2052);
  EXPECT_EQ(decode(encode(65504)), 65504);
  EXPECT_EQ(decode(encode(65520)), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(decode(encode(std::nanf("")))));
}

TEST(BFloat16, IsTheUpperHalfOfAFloat) {
  Rng rng(3);
  for (int i = 0; i < 100000; ++i) {
    const auto upper = static_cast<uint32_t>(rng.below(0x10000)) << 16;
    const float value = std::bit_cast<float>(upper);
    if (std::isnan(value)) continue;
    EXPECT_EQ(BFloat16(value).bits, upper >> 16);
    BFloat16 half;
    half.bits = static_cast<uint16_t>(upper >> 16);
    EXPECT_EQ(static_cast<float>(half), value);
  }
  EXPECT_EQ(BFloat16(1.00390625).bits, 0x3f80);  // a tie, to the even neighbour
  EXPECT_EQ(BFloat16(1.01171875).bits, 0x3f82);
}

}  // namespace
}  // namespace reverie
