#include "controller/policy/action_head.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

namespace reverie {
namespace {

struct Case {
  ActionInputs inputs;
  ActionHead head{nullptr};
};

EnvSpec four_actions() {
  EnvSpec spec;
  spec.actions = {"a", "b", "c", "NO-OP"};
  spec.max_choices = 60;
  return spec;
}

constexpr int64_t kEntityWidth = 5;

/// Of several entities some have no choices.
Case random_case(int64_t batch, int64_t largest = 7, int64_t entities = 1) {
  torch::manual_seed(3);
  Case c;
  c.head = ActionHead(6, four_actions(), ActionHeadConfig{}, kEntityWidth);
  for (auto& parameter : c.head->parameters()) torch::nn::init::normal_(parameter, 0, 0.7);
  c.inputs.features = torch::randn({batch, 6});
  c.inputs.entities = torch::randn({batch, entities, kEntityWidth - 1});
  c.inputs.memories = torch::randn({batch, entities, 1});
  LatentMask& mask = c.inputs.mask;
  const int64_t least = entities > 1 ? -largest : 0;
  mask.by_entity =
      torch::randint(least, largest + 1, {batch, 4, entities}, torch::kInt16).clamp_min(0);
  mask.by_entity.select(1, 3).zero_().select(1, 0).fill_(1);
  mask.totals = mask.by_entity.sum(2);
  return c;
}

LatentActions same_action(int64_t batch, const Action& action) {
  return latent_actions(std::vector<Action>(static_cast<size_t>(batch), action));
}

const Action kNoOp{3, 0, 0};

struct InOrder {
  bool operator()(const Action& a, const Action& b) const {
    return std::tie(a.primary, a.entity, a.index) < std::tie(b.primary, b.entity, b.index);
  }
};
using Joint = std::map<Action, double, InOrder>;

/// Probabilities of every allowed action of one row, by `evaluate` on each in turn.
Joint enumerate(Case& c, int64_t row) {
  Joint joint;
  const ActionInputs alone = select_rows(c.inputs, torch::tensor({row}, torch::kInt64));
  const auto& counts = alone.mask.by_entity;
  for (int a = 0; a < 4; ++a)
    for (int e = 0; e < counts.size(2); ++e)
      for (int i = 0; i < counts[0][a][e].item<int>(); ++i)
        joint[{a, e, i}] =
            c.head->evaluate(alone, same_action(1, {a, e, i})).log_probability.exp().item<double>();
  return joint;
}

TEST(ActionHeadTest, JointProbabilitiesSumToOneAndGiveTheEntropy) {
  for (const auto& [largest, entities] : {std::pair{7, 1}, {60, 1}, {7, 3}}) {
    Case c = random_case(5, largest, entities);
    const auto together = c.head->evaluate(c.inputs, same_action(5, kNoOp));
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
  for (const int64_t entities : {1, 3}) {
    Case c = random_case(5, 7, entities);
    const ActionPriors priors = c.head->priors(c.inputs);
    const std::vector<Action> actions = actions_of(priors.actions);
    int64_t at = 0;
    for (int64_t row = 0; row < 5; ++row)
      for (const auto& [action, p] : enumerate(c, row)) {
        ASSERT_LT(at, priors.state.size(0));
        EXPECT_EQ(priors.state[at].item<int64_t>(), row);
        EXPECT_EQ(actions[static_cast<size_t>(at)], action);
        EXPECT_NEAR(priors.log_probability[at++].exp().item<double>(), p, 1e-5);
      }
    EXPECT_EQ(priors.state.size(0), at);
  }
}

TEST(ActionHeadTest, ChosenLogProbabilityIsTheEvaluatedOne) {
  for (const int64_t entities : {1, 4}) {
    Case c = random_case(64, 7, entities);
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
  for (const int64_t entities : {1, 3}) {
    Case one = random_case(1, 3, entities);
    Rng rng(7);
    const auto draws = torch::zeros({kDraws}, torch::kInt64);
    const LatentActions actions =
        one.head->choose(select_rows(one.inputs, draws), false, rng).actions;
    Joint seen;
    for (const Action& action : actions_of(actions)) seen[action] += 1.0 / kDraws;
    const Joint expected = enumerate(one, 0);
    for (const auto& [action, share] : seen) EXPECT_TRUE(expected.contains(action)) << share;
    for (const auto& [action, p] : expected) EXPECT_NEAR(seen[action], p, 0.015);
  }
}

TEST(ActionHeadTest, GreedyTakesTheMostProbableActionThenEntityThenChoice) {
  for (const int64_t entities : {1, 3}) {
    Case c = random_case(1, 7, entities);
    Rng rng(1);
    const Action chosen = actions_of(c.head->choose(c.inputs, true, rng).actions).front();
    const Joint joint = enumerate(c, 0);
    std::map<int, double> primary, entity;
    for (const auto& [action, p] : joint) {
      primary[action.primary] += p;
      if (action.primary == chosen.primary) entity[action.entity] += p;
    }
    for (const auto& [other, p] : primary) EXPECT_LE(p, primary[chosen.primary] + 1e-6) << other;
    for (const auto& [other, p] : entity) EXPECT_LE(p, entity[chosen.entity] + 1e-6) << other;
    for (const auto& [action, p] : joint)
      if (action.primary == chosen.primary && action.entity == chosen.entity) {
        EXPECT_LE(p, joint.at(chosen) + 1e-7);
      }
  }
}

TEST(ActionHeadTest, NoOpStartsRare) {
  torch::manual_seed(1);
  ActionHead head(6, four_actions(), ActionHeadConfig{}, kEntityWidth);
  const LatentMask mask{torch::ones({1000, 4}, torch::kInt64),
                        torch::ones({1000, 4, 1}, torch::kInt16)};
  const ActionInputs inputs{torch::randn({1000, 6}), mask, torch::randn({1000, 1, kEntityWidth})};
  const auto p = head->evaluate(inputs, same_action(1000, kNoOp)).log_probability.exp();
  EXPECT_LT(p.mean().item<double>(), 0.02);
}

TEST(ActionHeadTest, GradientsAreFiniteAndReachEveryParameter) {
  for (const int64_t entities : {1, 3}) {
    Case c = random_case(9, 7, entities);
    for (const torch::Tensor* mask : c.inputs.mask.tensors())
      (*mask)[0].narrow(0, 0, 3).zero_();  // only NO-OP
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
