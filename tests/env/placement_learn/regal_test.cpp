#include "env/placement/learn/regal.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

TEST(QuantisedBeta, HasTheMeanAndAVarianceThatABetaCanHave) {
  for (int64_t mean = 0; mean < QuantisedBeta::kMeans; ++mean)
    for (int64_t variance = 0; variance < QuantisedBeta::kVariances; ++variance) {
      const QuantisedBeta one(mean, variance);
      ASSERT_GT(one.alpha, 0);
      ASSERT_GT(one.beta, 0);
      const double both = one.alpha + one.beta, m = one.alpha / both;
      EXPECT_NEAR(m, (static_cast<double>(mean) + 0.5) / QuantisedBeta::kMeans, 1e-12);
      const double v = one.alpha * one.beta / (both * both * (both + 1));
      EXPECT_LT(v, m * (1 - m));
      EXPECT_NEAR(v, QuantisedBeta::kShares[variance] * m * (1 - m), 1e-12);
    }
  const QuantisedBeta middle(QuantisedBeta::kMiddleMean, QuantisedBeta::kMiddleVariance);
  EXPECT_NEAR(middle.alpha, 1, 1e-12);
  EXPECT_NEAR(middle.beta, 1, 1e-12);
}

}  // namespace
}  // namespace reverie
