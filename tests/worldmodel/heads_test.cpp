#include "worldmodel/heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "worldmodel/modules.h"
#include "worldmodel/two_hot.h"

namespace reverie {
namespace {

/// Logits under which each x has what its two bins say of it.
torch::Tensor fitted(const TwoHot& bins, const torch::Tensor& x) {
  auto logits = torch::zeros({x.size(0), bins.bins()}).requires_grad_();
  torch::optim::Adam optimizer({logits}, torch::optim::AdamOptions(0.3));
  for (int i = 0; i < 300; ++i) {
    optimizer.zero_grad();
    bins.loss(logits, x).sum().backward();
    optimizer.step();
  }
  return logits.detach();
}

TEST(TwoHot, ExpectationIsTheNumberThatWasTold) {
  const TwoHot bins(41, 50);
  const auto x = torch::tensor({-80.0f, -50.0f, -3.3f, -0.01f, 0.0f, 0.2f, 7.7f, 49.0f, 1e4f});
  const auto within = x.clamp(-50, 50);
  const auto logits = fitted(bins, x);
  EXPECT_TRUE(torch::allclose(bins.mean(logits), within, 0.01, 0.05)) << bins.mean(logits);
  EXPECT_TRUE(torch::allclose(bins.sample(logits, 0, make_generator(1)), within, 0.01, 0.05));
}

TEST(TwoHot, SamplesAreDrawnByTheProbabilities) {
  const TwoHot bins(5, 3);  // centres -3, -1, 0, 1, 3
  const auto logits = torch::tensor({0.0f, -30.0f, -30.0f, 0.0f, 1.0f}).expand({20000, 5});
  const auto share = [&](double temperature, double centre) {
    return (bins.sample(logits, temperature, make_generator(2)) - centre).abs().lt(1e-4)
        .to(torch::kFloat).mean().item<double>();
  };
  EXPECT_NEAR(share(1, 3), std::exp(1) / (2 + std::exp(1)), 0.02);
  EXPECT_NEAR(share(1, -3), 1 / (2 + std::exp(1)), 0.02);
  EXPECT_NEAR(share(2, 3), std::exp(.5) / (2 + std::exp(.5)), 0.02);
  EXPECT_EQ(share(1, 0), 0);
}

/// Changes that are (2, -1) or (2, 3), by halves.
torch::Tensor changes(int64_t rows) {
  auto x = torch::full({rows, 2}, 2.0f);
  x.select(1, 1).copy_(torch::arange(rows).remainder(2) * 4 - 1);
  return x;
}

torch::Tensor fitted(const ChangeHead& head) {
  const auto x = changes(64);
  torch::manual_seed(1);
  auto columns = (0.1 * torch::randn({1, head.columns()})).requires_grad_();
  torch::optim::Adam optimizer({columns}, torch::optim::AdamOptions(0.05));
  for (int i = 0; i < 600; ++i) {
    optimizer.zero_grad();
    head.loss(columns.expand({64, -1}), x).mean().backward();
    optimizer.step();
  }
  return columns.detach();
}

TEST(ChangeHead, LearnsWhatChangesAre) {
  for (const ChangeHeadKind kind :
       {ChangeHeadKind::kMixture, ChangeHeadKind::kResidual, ChangeHeadKind::kCategorical}) {
    const auto head = make_change_head(kind, 3, 2, -4);
    const auto columns = fitted(*head).expand({4000, -1});
    const auto mean = head->mean(columns)[0];
    EXPECT_NEAR(mean[0].item<double>(), 2, 0.1);
    // The Huber loss is the same anywhere between what is a unit from either.
    EXPECT_NEAR(mean[1].item<double>(), 1, kind == ChangeHeadKind::kResidual ? 1.1 : 0.3);
    const auto samples = head->sample(columns, 1, make_generator(1));
    ASSERT_EQ(samples.sizes(), (std::vector<int64_t>{4000, 2}));
    const double spread = samples.select(1, 1).std(false).item<double>();
    EXPECT_NEAR(spread, kind == ChangeHeadKind::kResidual ? 0 : 2, 0.3);
    EXPECT_LT(samples.select(1, 0).std(false).item<double>(), 0.6);
    EXPECT_TRUE(torch::equal(head->sample(columns, 0, make_generator(1)),
                             head->sample(columns, 0, make_generator(2))));
  }
}

TEST(RewardHead, LearnsTheMeanReward) {
  const auto rewards = torch::tensor({0.0f, 0.0f, 0.0f, 6.0f});
  for (const RewardHeadKind kind : {RewardHeadKind::kRegression, RewardHeadKind::kTwoHot}) {
    const auto head = make_reward_head(kind);
    auto columns = torch::zeros({1, head->columns()}).requires_grad_();
    torch::optim::Adam optimizer({columns}, torch::optim::AdamOptions(0.1));
    for (int i = 0; i < 400; ++i) {
      optimizer.zero_grad();
      head->loss(columns.expand({4, -1}), rewards).mean().backward();
      optimizer.step();
    }
    EXPECT_NEAR(head->mean(columns).item<double>(), 1.5, 0.05);
  }
}

}  // namespace
}  // namespace reverie
