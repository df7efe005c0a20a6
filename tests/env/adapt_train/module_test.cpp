#include "env/adapt/train/module.h"

#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/adam.h>

#include "env/adapt/train/adam.h"
#include "tests/env/adapt_train/random_network.h"

namespace reverie {
namespace {

using testing::allowed_changes;
using testing::images_for;
using testing::RandomNetwork;
using testing::worn;

double difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>() / std::max(1.0, b.abs().max().item<double>());
}

class Changes : public ::testing::TestWithParam<double> {};

TEST_P(Changes, KeepTheFunctionOfRandomNetworks) {
  const torch::NoGradGuard guard;
  Rng rng(11);
  std::map<std::string, int> seen;
  for (int trial = 0; trial < 60; ++trial) {
    WeightedNetwork weights = worn(RandomNetwork(rng).take(), rng);
    const auto calibration = images_for(weights.network(), 16),
               others = images_for(weights.network(), 7) * 3;
    const auto trained = weights.forward(calibration, Pass::kStatistics);
    const auto evaluated = weights.forward(others, Pass::kEvaluate);
    for (int step = 0; step < 4; ++step) {
      const std::vector<adapt::Change> choices = allowed_changes(weights.network());
      if (choices.empty()) break;
      const adapt::Change change = choices[rng.below(choices.size())];
      const Network old = weights.network();
      const Block block = old.blocks[static_cast<size_t>(change.block)];
      ++seen[std::string(name_of(change.kind)) +
             (block.kind == BlockKind::kConv ? " conv" : " linear")];
      if (change.kind == ChangeKind::kWiden && adapt::tied(old, change.block).size() > 1)
        ++seen["tied"];
      weights = weights.changed(adapt::changed(old, change), calibration, GetParam(), rng);
      EXPECT_LT(difference(weights.forward(calibration, Pass::kStatistics), trained), 1e-5)
          << trial << " " << name_of(change.kind) << " " << block.name << "\n"
          << to_yaml(weights.network());
      EXPECT_LT(difference(weights.forward(others, Pass::kEvaluate), evaluated), 1e-5)
          << trial << " " << name_of(change.kind) << " " << block.name << "\n"
          << to_yaml(weights.network());
    }
  }
  for (const char* kind : {"deepen conv", "widen conv", "deepen linear", "widen linear", "tied"})
    EXPECT_GE(seen[kind], 10) << kind;
}

INSTANTIATE_TEST_SUITE_P(Noise, Changes, ::testing::Values(0.0, 0.4));

Network two_stages() {
  return parse_network(R"(
image: [1, 6, 6]
blocks:
  - {name: a, conv: 3}
  - {name: pool, max_pool: 2}
  - {name: b, conv: 4}
  - {name: out, linear: 5}
)",
                       "two stages");
}

TEST(WeightedNetwork, HasTheParametersThatTheNetworkSays) {
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    WeightedNetwork weights(RandomNetwork(rng).take(), rng);
    int64_t count = 0;
    for (const auto& parameter : weights.parameters()) count += parameter.numel();
    EXPECT_EQ(count, weights.network().parameters());
  }
}

TEST(WeightedNetwork, ACopyHasWeightsOfItsOwn) {
  Rng rng(1);
  WeightedNetwork one(two_stages(), rng), two = one;
  const auto images = images_for(two_stages(), 4);
  EXPECT_TRUE(
      torch::equal(one.forward(images, Pass::kEvaluate), two.forward(images, Pass::kEvaluate)));
  const auto before = one.forward(images, Pass::kEvaluate);
  two.forward(images, Pass::kTrain);  // moves its running statistics
  two.each([](const std::string&, torch::Tensor& tensor) {
    const torch::NoGradGuard guard;
    tensor.add_(1);
  });
  EXPECT_TRUE(torch::equal(one.forward(images, Pass::kEvaluate), before));
  for (const auto& parameter : two.parameters()) EXPECT_TRUE(parameter.requires_grad());
}

TEST(WeightedNetwork, CopiesOfAUnitStayTheSameWithoutNoiseOnly) {
  const Network network = two_stages(), wide = adapt::changed(network, {ChangeKind::kWiden, 0});
  for (const double noise : {0.0, 0.2}) {
    Rng rng(1);
    WeightedNetwork weights(network, rng);
    weights = weights.changed(wide, images_for(network, 8), noise, rng);
    const std::vector<torch::Tensor> parameters = weights.parameters();
    const auto loss =
        torch::cross_entropy_loss(weights.forward(images_for(network, 32), Pass::kTrain),
                                  torch::randint(5, {32}, torch::kLong));
    const auto gradient = torch::autograd::grad({loss}, {weights.weights(0).weight.value})[0];
    EXPECT_EQ(difference(gradient.slice(0, 0, 3), gradient.slice(0, 3, 6)) < 1e-6, noise == 0)
        << noise;
  }
}

TEST(Adam, MovesAsThatOfLibTorch) {
  const auto start = torch::randn({5, 3});
  auto own = start.clone().set_requires_grad(true), other = start.clone().set_requires_grad(true);
  Adam adam({own}, 0.03);
  torch::optim::Adam reference({other}, torch::optim::AdamOptions(0.03));
  for (int step = 0; step < 20; ++step) {
    const auto gradient = torch::randn({5, 3}) * (step + 1);
    adam.step({own}, {gradient});
    other.mutable_grad() = gradient.clone();
    reference.step();
  }
  EXPECT_LT(difference(own, other), 1e-6);
  EXPECT_GT(difference(own, start), 0.01);
}

}  // namespace
}  // namespace reverie
