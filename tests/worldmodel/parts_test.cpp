#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "worldmodel/batch/choice_features.h"
#include "worldmodel/memory/count_change.h"
#include "worldmodel/memory/mdn.h"
#include "worldmodel/network/modules.h"

namespace reverie {
namespace {

Mixture two_components() {
  return Mixture::from_columns(torch::tensor({0.0f, 1.0f, /*means*/ 0.0f, 1.0f, 2.0f, 3.0f,
                                              /*log sigma*/ 0.0f, 0.5f, -0.5f, 0.0f})
                                   .view({1, 10}),
                               2, 2, -4);
}

TEST(Mixture, LikelihoodIsTheFormulas) {
  const double x[2] = {0.5, 2.0}, mean[2][2] = {{0, 1}, {2, 3}},
               log_sigma[2][2] = {{0, .5}, {-.5, 0}};
  const double weight[2] = {1 / (1 + std::exp(1.0)), std::exp(1.0) / (1 + std::exp(1.0))};
  double density = 0;
  for (int k = 0; k < 2; ++k) {
    double product = weight[k];
    for (int d = 0; d < 2; ++d) {
      const double sigma = std::exp(log_sigma[k][d]), y = (x[d] - mean[k][d]) / sigma;
      product *= std::exp(-0.5 * y * y) / (sigma * std::sqrt(2 * std::numbers::pi));
    }
    density += product;
  }
  const auto loss =
      two_components().negative_log_likelihood(torch::tensor({0.5f, 2.0f}).view({1, 2}));
  EXPECT_NEAR(loss.item<double>(), -std::log(density), 1e-5);
}

TEST(Mixture, TemperatureScalesWeightsAndSpread) {
  Mixture many = two_components();
  for (torch::Tensor* tensor : {&many.logits, &many.means, &many.log_sigma}) {
    auto shape = tensor->sizes().vec();
    shape[0] = 20000;
    *tensor = tensor->expand(shape);
  }
  EXPECT_TRUE(torch::equal(many.sample(0, make_generator(1)), many.means.select(1, 1)));
  for (const double tau : {0.5, 2.0}) {
    const auto samples = many.sample(tau, make_generator(1));
    const double second = 1 / (1 + std::exp(-1 / tau));
    EXPECT_NEAR(samples.select(1, 0).mean().item<double>(), 2 * second, 0.03);
    const double within = tau * (second * std::exp(-1.0) + (1 - second));
    const double between = 4 * second * (1 - second);
    EXPECT_NEAR(samples.select(1, 0).var().item<double>(), within + between, 0.06);
  }
}

TEST(WithTorchSeed, EqualSeedsGiveEqualWeightsAndTheGeneratorGoesOnWhereItWas) {
  const auto weight = [](uint64_t seed) {
    return with_torch_seed(seed, [] { return Mlp(3, 4, 2); })->second->weight;
  };
  torch::manual_seed(1);
  const auto first = torch::rand({4}), second = torch::rand({4});
  torch::manual_seed(1);
  EXPECT_TRUE(torch::equal(torch::rand({4}), first));
  const auto one = weight(5);
  EXPECT_TRUE(torch::equal(torch::rand({4}), second));
  EXPECT_TRUE(torch::equal(weight(5), one));
  EXPECT_FALSE(torch::equal(weight(6), one));
}

TEST(CountChange, SmallChangesAreExactAndNoneIsNone) {
  const auto current = torch::arange(0, 40).unsqueeze(1).expand({40, 9});
  const auto change = torch::tensor({-4L, -3L, -2L, -1L, 0L, 1L, 2L, 3L, 4L});
  const auto next = (current + change).clamp_min(0);
  EXPECT_TRUE(
      torch::equal(CountChange::decode(current, CountChange::encode(current, next), 50), next));
}

TEST(CountChange, LargeChangesAreTheNearestEntryWithinBounds) {
  const auto code = [](int64_t current, int64_t next) {
    return CountChange::decode(torch::tensor({current}),
                               CountChange::encode(torch::tensor({current}), torch::tensor({next})),
                               200)
        .item<int64_t>();
  };
  EXPECT_EQ(code(10, 27), 26);
  EXPECT_EQ(code(100, 0), 0);
  EXPECT_EQ(code(0, 0), 0);
  EXPECT_EQ(code(190, 200), 198);
  EXPECT_EQ(code(3, 200), 131);
  EXPECT_EQ(code(150, 1), 22);
}

TEST(Choices, FeaturesTolerateCountsThatAreTooSmall) {
  const auto features = choice_features(torch::tensor({0L, 3L}), torch::tensor({4L, 1L}), 200);
  ASSERT_EQ(features.sizes(), (std::vector<int64_t>{2, kChoiceFeatures}));
  EXPECT_FLOAT_EQ(features[0][0].item<float>(), 0.125f);
  EXPECT_FLOAT_EQ(features[1][0].item<float>(), 0.875f);
  EXPECT_FALSE(torch::equal(features[0], features[1]));
}

TEST(Normalizer, GivesColumnsMeanZeroAndDeviationOne) {
  const auto x = torch::randn({500, 3}, make_generator(1)) * torch::tensor({1.0f, 5.0f, 0.0f}) + 4;
  ColumnStatistics statistics(3);
  statistics.add(x.narrow(0, 0, 200));
  statistics.add(x.narrow(0, 200, 300));
  Normalizer normalizer(3);
  statistics.store(*normalizer);
  const auto y = normalizer(x);
  EXPECT_LT(y.mean(0).abs().max().item<double>(), 1e-4);
  EXPECT_NEAR(y.select(1, 1).std(false).item<double>(), 1, 1e-4);
  EXPECT_LT(y.select(1, 2).abs().max().item<double>(), 1e-4);
  EXPECT_TRUE(torch::allclose(normalizer->inverse(y), x, 1e-4, 1e-4));
}

TEST(Mixture, ColumnsAreSampledAsTheMixtureIs) {
  torch::manual_seed(1);
  const auto columns = 2 * torch::randn({500, Mixture::columns(3, 4)});
  for (const double tau : {0.0, 0.3, 1.0, 2.5})
    EXPECT_TRUE(torch::allclose(
        Mixture::sample_columns(columns, 3, 4, -2, tau, make_generator(5)),
        Mixture::from_columns(columns, 3, 4, -2).sample(tau, make_generator(5)), 1e-3, 1e-3))
        << tau;
}

}  // namespace
}  // namespace reverie
