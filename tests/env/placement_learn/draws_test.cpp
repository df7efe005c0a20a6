#include "env/placement/learn/draws.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(Draws, ActionsComeWithTheirProbabilities) {
  Rng rng(1);
  const auto logits = torch::tensor({0.1f, 0.6f, 0.0f, 0.3f}).log().expand({20000, 4});
  const auto actions = draw_actions(logits, rng);
  ASSERT_EQ(actions.sizes(), (std::vector<int64_t>{20000}));
  const auto shares = torch::bincount(actions, {}, 4) / 20000.0;
  EXPECT_TRUE(shares.allclose(torch::tensor({0.1, 0.6, 0.0, 0.3}).to(shares.dtype()), 0, 0.015))
      << shares;
}

TEST(Draws, WeightsDependOnTheSeedAlone) {
  std::vector<torch::Tensor> drawn;
  for (const uint64_t seed : {1, 1, 2}) {
    torch::nn::Linear linear(9, 5);
    Rng rng(seed);
    draw_weights(*linear, rng);
    drawn.push_back(linear->weight);
    EXPECT_NEAR(linear->weight.std().item<float>(), 1.0f / 3, 0.06f);
    EXPECT_TRUE(linear->bias.equal(torch::zeros({5})));
  }
  EXPECT_TRUE(drawn[0].equal(drawn[1]));
  EXPECT_FALSE(drawn[0].equal(drawn[2]));
}

}  // namespace
}  // namespace reverie
