#include "controller/agents/categorical.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reverie {
namespace {

torch::Tensor shares() { return torch::tensor({0.1f, 0.6f, 0.0f, 0.3f}); }

TEST(Categorical, ActionsComeWithTheirProbabilities) {
  Rng rng(1);
  const auto actions = draw_actions(shares().log().expand({100, 200, 4}), rng);
  ASSERT_EQ(actions.sizes(), (std::vector<int64_t>{100, 200}));
  const auto drawn = torch::bincount(actions.flatten(), {}, 4) / 20000.0;
  EXPECT_TRUE(drawn.allclose(shares().to(drawn.dtype()), 0, 0.015)) << drawn;
}

TEST(Categorical, LogProbabilitiesAndEntropyAreThoseOfTheSoftmax) {
  const auto logits = torch::tensor({{0.0f, std::log(3.0f)}, {5.0f, 5.0f}});
  const auto of = log_probability(logits, torch::tensor({1, 0}, torch::kLong));
  EXPECT_NEAR(of[0].item<double>(), std::log(0.75), 1e-6);
  EXPECT_NEAR(of[1].item<double>(), std::log(0.5), 1e-6);
  const double first = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  EXPECT_NEAR(mean_entropy(logits).item<double>(), (first + std::log(2.0)) / 2, 1e-6);
}

}  // namespace
}  // namespace reverie
