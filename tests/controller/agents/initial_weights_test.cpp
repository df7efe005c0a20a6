#include "controller/agents/initial_weights.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(InitialWeights, DependOnTheSeedAlone) {
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
