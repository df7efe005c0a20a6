#include "worldmodel/network/activations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "worldmodel/encoder/entity_pool.h"
#include "worldmodel/network/vector_math.h"

namespace reverie {
namespace {

TEST(VectorMath, IsAsExactAsItSays) {
  for (double x = -90; x <= 90; x += 0.0137) {
    const auto at = static_cast<float>(x);
    if (x > -87 && x < 88) {
      EXPECT_NEAR(exp_of(at) / std::exp(static_cast<double>(at)), 1, 2.4e-7) << x;
    }
    EXPECT_NEAR(sigmoid_of(at), 1 / (1 + std::exp(-static_cast<double>(at))), 1e-7) << x;
    EXPECT_NEAR(tanh_of(at), std::tanh(static_cast<double>(at)), 2.4e-7) << x;
  }
  EXPECT_EQ(tanh_of(1000), 1);
  EXPECT_EQ(tanh_of(-1000), -1);
  EXPECT_LT(sigmoid_of(-1000), 1e-37f);
}

TEST(Activations, OfRowsThatLieApartAreThoseOfLibTorch) {
  torch::NoGradGuard guard;
  const auto wide = torch::randn({5, 40}) * 4;
  auto x = wide.clone().narrow(1, 3, 17);
  const auto expected = torch::silu(x.contiguous());
  silu_rows(x);
  EXPECT_TRUE(torch::allclose(x, expected, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(tanh_all(wide), torch::tanh(wide), 0, 2e-7));
  EXPECT_TRUE(torch::equal(tanh_all(wide.t()), torch::tanh(wide.t())));
}

TEST(Activations, TanhHasGradientsWhereTheseAreRecorded) {
  const auto x = torch::randn({4, 3}).requires_grad_();
  tanh_all(x).sum().backward();
  EXPECT_TRUE(torch::allclose(x.grad(), 1 - torch::tanh(x).square()));
}

TEST(Activations, PoolsTellTheSameWithoutGradients) {
  EntityPool pool(6, 10);
  for (const int64_t states : {1, 7, 400}) {
    const auto entities = torch::rand({states, 9, 6}) * 2 - 1;
    const auto expected = pool->forward(entities);
    torch::NoGradGuard guard;
    EXPECT_TRUE(torch::allclose(pool->tell(entities), expected, 1e-4, 1e-6)) << states;
  }
}

}  // namespace
}  // namespace reverie
