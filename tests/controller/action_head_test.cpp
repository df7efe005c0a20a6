#include "controller/action_head.h"

#include <gmock/gmock.h>

#include <map>

namespace reverie {
namespace {

struct Case {
  ActionInputs inputs;
  ActionHead head{nullptr};
};

EnvSpec four_actions() {
  EnvSpec spec;
  spec.actions = {"a", "b", "c", "NO-OP"};
  spec.max_secondary = 60;
  return spec;
}

constexpr int64_t kRegionWidth = 5;

/// With `regions` > 1 some have no choices.
Case random_case(int64_t batch, int64_t largest = 7, int64_t regions = 1) {
  torch::manual_seed(3);
  Case c;
  c.head = ActionHead(6, four_actions(), ActionHeadConfig{}, regions > 1 ? kRegionWidth : 0);
  for (auto& parameter : c.head->parameters()) torch::nn::init::normal_(parameter, 0, 0.7);
  c.inputs.features = torch::randn({batch, 6});
  LatentMask& mask = c.inputs.mask;
  mask.counts = torch::randint(0, largest + 1, {batch, 4}, torch::kInt64);
  if (regions > 1) {
    c.inputs.regions = torch::randn({batch, regions, kRegionWidth - 1});
    c.inputs.memories = torch::randn({batch, regions, 1});
    mask.regions = torch::randint(-largest, largest + 1, {batch, 4, regions}, torch::kInt16).clamp_min(0);
    mask.regions.select(1, 3).zero_().select(1, 0).fill_(1);
    mask.counts = mask.regions.sum(2);
  }
  mask.counts.select(1, 3).fill_(1);
  return c;
}

LatentActions same_action(int64_t batch, int64_t primary, int64_t secondary) {
  return {torch::full({batch}, primary, torch::kInt64),
          torch::full({batch}, secondary, torch::kInt64)};
}

using Joint = std::map<std::pair<int64_t, int64_t>, double>;

/// Probabilities of every allowed action of one row, by `evaluate` on each in turn.
Joint enumerate(Case& c, int64_t row) {
  Joint joint;
  const ActionInputs alone = select_rows(c.inputs, torch::tensor({row}, torch::kInt64));
  for (int64_t a = 0; a < 4; ++a)
    for (int64_t s = 0; s < c.inputs.mask.counts[row][a].item<int64_t>(); ++s)
      joint[{a, s}] =
          c.head->evaluate(alone, same_action(1, a, s)).log_probability.exp().item<double>();
  return joint;
}

TEST(ActionHeadTest, JointProbabilitiesSumToOneAndGiveTheEntropy) {
  for (const auto& [largest, regions] : {std::pair{7, 1}, {60, 1}, {7, 3}}) {
    Case c = random_case(5, largest, regions);
    const auto together = c.head->evaluate(c.inputs, same_action(5, 3, 0));
    for (int64_t row = 0; row < 5; ++row) {
      double sum = 0, entropy = 0;
      for (const auto& [action, p] : enumerate(c, row)) {
        sum += p;
        entropy -= p * std::log(p);
      }
      EXPECT_NEAR(sum, 1, 1e-5);
      EXPECT_NEAR(together.entropy[row].item<double>(), entropy, 1e-4);
    }
  }
}

TEST(ActionHeadTest, PriorsAreTheJointProbabilitiesInOrder) {
  for (const int64_t regions : {1, 3}) {
    Case c = random_case(5, 7, regions);
    const ActionPriors priors = c.head->priors(c.inputs);
    int64_t at = 0;
    for (int64_t row = 0; row < 5; ++row)
      for (const auto& [action, p] : enumerate(c, row)) {
        ASSERT_LT(at, priors.state.size(0));
        EXPECT_EQ(priors.state[at].item<int64_t>(), row);
        EXPECT_EQ(priors.actions.primary[at].item<int64_t>(), action.first);
        EXPECT_EQ(priors.actions.secondary[at].item<int64_t>(), action.second);
        EXPECT_NEAR(priors.log_probability[at++].exp().item<double>(), p, 1e-5);
      }
    EXPECT_EQ(priors.state.size(0), at);
  }
}

TEST(ActionHeadTest, ChosenLogProbabilityIsTheEvaluatedOne) {
  for (const int64_t regions : {1, 4}) {
    Case c = random_case(64, 7, regions);
    Rng rng(1);
    for (const bool greedy : {false, true}) {
      const Choice choice = c.head->choose(c.inputs, greedy, rng);
      const auto again = c.head->evaluate(c.inputs, choice.actions);
      EXPECT_TRUE(torch::allclose(choice.log_probability, again.log_probability, 1e-5, 1e-6));
    }
  }
}

TEST(ActionHeadTest, SamplesFollowTheJointProbabilitiesAndTheMask) {
  constexpr int64_t kDraws = 20000;
  for (const int64_t regions : {1, 3}) {
    Case one = random_case(1, 3, regions);
    Rng rng(7);
    const auto draws = torch::zeros({kDraws}, torch::kInt64);
    const LatentActions actions =
        one.head->choose(select_rows(one.inputs, draws), false, rng).actions;
    Joint seen;
    for (int64_t i = 0; i < kDraws; ++i)
      seen[{actions.primary[i].item<int64_t>(), actions.secondary[i].item<int64_t>()}] += 1.0 / kDraws;
    const Joint expected = enumerate(one, 0);
    for (const auto& [action, share] : seen) EXPECT_TRUE(expected.contains(action)) << share;
    for (const auto& [action, p] : expected) EXPECT_NEAR(seen[action], p, 0.015);
  }
}

TEST(ActionHeadTest, GreedyTakesTheMostProbable) {
  Case c = random_case(1);
  Rng rng(1);
  const Choice choice = c.head->choose(c.inputs, true, rng);
  const Joint joint = enumerate(c, 0);
  std::map<int64_t, double> primary;
  for (const auto& [action, p] : joint) primary[action.first] += p;
  const int64_t a = choice.actions.primary[0].item<int64_t>();
  for (const auto& [other, p] : primary) EXPECT_LE(p, primary[a] + 1e-6) << other;
  const double chosen = joint.at({a, choice.actions.secondary[0].item<int64_t>()});
  for (const auto& [action, p] : joint)
    if (action.first == a) { EXPECT_LE(p, chosen + 1e-7); }
}

TEST(ActionHeadTest, NoOpStartsRare) {
  torch::manual_seed(1);
  ActionHead head(6, four_actions(), ActionHeadConfig{});
  const auto p = head->evaluate({torch::randn({1000, 6}), {torch::ones({1000, 4}, torch::kInt64), {}}, {}},
                                same_action(1000, 3, 0)).log_probability.exp();
  EXPECT_LT(p.mean().item<double>(), 0.02);
}

TEST(ActionHeadTest, GradientsAreFiniteAndReachEveryParameter) {
  for (const int64_t regions : {1, 3}) {
    Case c = random_case(9, 7, regions);
    for (const torch::Tensor* mask : c.inputs.mask.tensors())  // only NO-OP
      if (mask->defined()) (*mask)[0].narrow(0, 0, 3).zero_();
    Rng rng(2);
    const auto actions = c.head->choose(c.inputs, false, rng).actions;
    const auto e = c.head->evaluate(c.inputs, actions);
    (e.log_probability.sum() + e.entropy.sum()).backward();
    for (const auto& named : c.head->named_parameters()) {
      ASSERT_TRUE(named.value().grad().defined()) << named.key();
      EXPECT_TRUE(named.value().grad().isfinite().all().item<bool>()) << named.key();
      EXPECT_GT(named.value().grad().abs().sum().item<double>(), 0) << named.key();
    }
  }
}

TEST(DrawIndexTest, NeverTakesAWeightOfZero) {
  const auto weights = torch::tensor({{0.0, 1.0, 0.0, 2.0, 0.0}}, torch::kFloat64).expand({4, 5});
  const auto u = torch::tensor({0.0, 0.33, 0.34, 1.0}, torch::kFloat64);
  EXPECT_TRUE(torch::equal(draw_index(weights, u), torch::tensor({1, 1, 3, 3}, torch::kInt64)));
}

}  // namespace
}  // namespace reverie
