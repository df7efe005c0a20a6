#include "controller/agents/sequence_placer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace reverie::testing {
namespace {

const SequencePlacer::Sizes kSmall{.inputs = 3, .devices = 2, .hidden = 6};

torch::Tensor three_groups() {
  return torch::tensor({{1.0f, -0.5f, 2.0f}, {0.3f, 0.7f, -1.0f}, {0.0f, 2.0f, 0.1f}});
}

/// All ways to give three groups a device of two.
std::vector<std::vector<int>> all_placements() {
  std::vector<std::vector<int>> all;
  for (int bits = 0; bits < 8; ++bits) all.push_back({bits & 1, bits >> 1 & 1, bits >> 2});
  return all;
}

class Placers : public ::testing::TestWithParam<bool> {
 protected:
  static SequencePlacer::Sizes sizes() {
    SequencePlacer::Sizes sizes = kSmall;
    sizes.bidirectional = GetParam();
    return sizes;
  }
  SequencePlacer placer_{sizes(), Rng(1)};
};

TEST_P(Placers, ProbabilitiesOfAllPlacementsSumToOne) {
  const auto each = placer_.log_probability(three_groups(), all_placements()).exp();
  EXPECT_NEAR(each.sum().item<double>(), 1, 1e-5);
  EXPECT_GT(each.max().item<double>(), 1.05 * each.min().item<double>());
}

/// The decoder draws step by step what it gives probabilities to all at once.
TEST_P(Placers, DrawsAsOftenAsItSays) {
  Rng rng(2);
  constexpr int kDraws = 20000;
  std::map<std::vector<int>, int> count;
  for (const std::vector<int>& devices : placer_.draw(three_groups(), kDraws, rng))
    ++count[devices];
  const auto all = all_placements();
  const auto each = placer_.log_probability(three_groups(), all).exp();
  for (size_t i = 0; i < all.size(); ++i) {
    const double p = each[static_cast<int64_t>(i)].item<double>();
    EXPECT_NEAR(count[all[i]], kDraws * p, 4 * std::sqrt(kDraws * p * (1 - p))) << i;
  }
}

TEST_P(Placers, TheLikeliestDeviceFollowsThoseBefore) {
  const std::vector<int> likeliest = placer_.likeliest(three_groups());
  const auto each = placer_.log_probabilities(three_groups(), {likeliest})[0].argmax(1);
  for (size_t group = 0; group < likeliest.size(); ++group)
    EXPECT_EQ(each[static_cast<int64_t>(group)].item<int64_t>(), likeliest[group]);
}

/// Each weight's gradient beside the difference that a small step makes.
TEST_P(Placers, GradientsAreThoseOfDifferences) {
  const auto groups = three_groups();
  const std::vector<std::vector<int>> devices = {{1, 0, 1}, {0, 0, 1}};
  placer_.log_probability(groups, devices).sum().backward();
  const torch::NoGradGuard guard;
  const auto at = [&] { return placer_.log_probability(groups, devices).sum().item<double>(); };
  constexpr float kStep = 1e-2f;
  for (const auto& item : placer_.named_parameters()) {
    float* const weights = item.value().data_ptr<float>();
    const float* const gradient = item.value().grad().data_ptr<float>();
    for (const int64_t i : {int64_t{0}, item.value().numel() / 2, item.value().numel() - 1}) {
      const float before = weights[i];
      weights[i] = before + kStep;
      const double above = at();
      weights[i] = before - kStep;
      const double below = at();
      weights[i] = before;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 2e-3) << item.key() << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Placers, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "BothWays" : "OneWay"; });

TEST(SequencePlacer, ALimitBoundsHowMuchLikelierADeviceIs) {
  SequencePlacer::Sizes sizes = kSmall;
  sizes.temperature = 10;
  sizes.limit = 5;
  const SequencePlacer placer(sizes, Rng(1));
  {
    const torch::NoGradGuard guard;
    auto head = placer.named_parameters()["head"];
    head[0].mul_(1e6);
    head[1] = -head[0];
  }
  const auto each = placer.log_probabilities(three_groups(), {{0, 0, 0}})[0];
  const auto apart = (each.select(1, 0) - each.select(1, 1)).abs();
  EXPECT_NEAR(apart.max().item<double>(), 10, 1e-4);
}

TEST(SequencePlacer, BlocksOfAttentionAreOne) {
  SequencePlacer::Sizes sizes = kSmall;
  sizes.hidden = 64;
  const SequencePlacer placer(sizes, Rng(1));
  Rng rng(5);
  auto groups = torch::empty({150, 3});
  std::generate_n(groups.data_ptr<float>(), groups.numel(),
                  [&] { return static_cast<float>(rng.uniform(-1, 1)); });
  const auto devices = placer.draw(groups, 4, rng);
  const auto together = placer.log_probability(groups, devices);
  for (size_t sample = 0; sample < devices.size(); ++sample)
    EXPECT_NEAR(placer.log_probability(groups, {devices[sample]}).item<double>(),
                together[static_cast<int64_t>(sample)].item<double>(), 1e-3);
}

}  // namespace
}  // namespace reverie::testing
