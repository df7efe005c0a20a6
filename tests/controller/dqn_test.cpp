#include "controller/train/dqn.h"

#include <gtest/gtest.h>

#include "tests/support/latent_puzzle.h"

namespace reverie {
namespace {

ActorCriticConfig narrow_net() {
  ActorCriticConfig config;
  config.width = 32;
  return config;
}

/// At the start "win" pays 1 and ends it; "go" pays 0.5 and leads to a state that looks almost the
/// same, but where NO-OP alone is left, and pays nothing.
class WinOnce : public LatentEnvironment {
 public:
  explicit WinOnce(int batch) : at_(torch::zeros({batch})) {
    spec_.latent = spec_.hidden = 1;
    spec_.env.actions = {"win", "go", "NO-OP"};
    spec_.env.max_choices = 1;
    spec_.env.horizon = 4;
  }
  const LatentSpec& spec() const override { return spec_; }
  int batch() const override { return static_cast<int>(at_.size(0)); }
  EnvCounters counters() const override { return {}; }
  LatentObservation reset(uint64_t) override {
    at_ = torch::zeros_like(at_);
    return observe();
  }
  LatentObservation observe() const override {
    LatentObservation seen;
    seen.z = (at_ * 0.2).unsqueeze(1);
    seen.h = torch::zeros_like(seen.z);
    const auto first = at_.eq(0).to(torch::kInt64);
    seen.mask.totals = torch::stack({first, first, torch::ones_like(first)}, 1);
    seen.mask.by_entity = seen.mask.totals.unsqueeze(2).to(torch::kInt16);
    seen.to_go = 1 - at_ / 4;
    seen.entities = seen.z.unsqueeze(1);
    seen.entity_h = seen.h.unsqueeze(1);
    return seen;
  }
  LatentStep step(const LatentActions& actions) override {
    const auto here = at_.eq(0);
    const auto win = here & actions.primary.eq(0), go = here & actions.primary.eq(1);
    at_ = torch::maximum(at_, go.to(torch::kFloat));
    return {win.to(torch::kFloat) + 0.5 * go.to(torch::kFloat), go.logical_not(),
            torch::zeros_like(go)};
  }

 private:
  torch::Tensor at_;
  LatentSpec spec_;
};

TEST(DqnTest, WhatFollowsIsWorthNoMoreThanItsValidActions) {
  constexpr uint64_t kUpdates = 30;
  WinOnce environment(8);
  DqnConfig config;
  config.steps = 1;
  DqnTrainer trainer(environment.spec(), narrow_net(), config, 1);
  for (uint64_t update = 0; update < kUpdates; ++update)
    trainer.update(environment, static_cast<double>(update) / kUpdates, update);
  Rng rng(1);
  const PolicyDecision first = trainer.policy().act(environment.reset(1), true, rng);
  EXPECT_EQ(first.actions.primary[0].item<int64_t>(), 0);
  EXPECT_NEAR(first.value[0].item<double>(), 1, 0.1);
}

TEST(DqnTest, TheBestOfAStateIsTheBestOfItsValidActions) {
  LatentPuzzle puzzle(2, 2, 8);
  torch::manual_seed(3);
  ActorCritic net(puzzle.spec(), narrow_net());
  LatentObservation seen = puzzle.reset(1);
  seen.mask.totals = torch::tensor({{1, 3, 0, 1}, {0, 0, 5, 1}}, torch::kInt64);
  seen.mask.by_entity = seen.mask.totals.unsqueeze(2).to(torch::kInt16);
  const ActionScores all = net->action_values(seen);
  EXPECT_TRUE(all.state.equal(torch::tensor({0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, torch::kInt64)));
  const auto primary = torch::tensor({0, 1, 1, 1, 3, 2, 2, 2, 2, 2, 3}, torch::kInt64);
  EXPECT_TRUE(all.actions.primary.equal(primary));
  DqnPolicy policy(net, -4);
  Rng rng(1);
  const PolicyDecision best = policy.act(seen, true, rng);
  for (int64_t b = 0; b < 2; ++b) {
    const auto of_state = all.score.masked_select(all.state.eq(b));
    EXPECT_NEAR(best.value[b].item<float>(), of_state.max().item<float>(), 1e-5);
  }
  EXPECT_TRUE(all.score.index_select(0, rows_of(all, best.actions)).allclose(best.value));
  const auto rows = torch::tensor({3, 9}, torch::kInt64);
  EXPECT_TRUE(rows_of(all, select_rows(all.actions, rows)).equal(rows));
}

TEST(DqnTest, SampledActionsHaveTheProbabilitiesThatAreTold) {
  constexpr int64_t kStates = 4000;
  LatentPuzzle puzzle(kStates, 2, 8);
  torch::manual_seed(3);
  DqnPolicy policy(ActorCritic(puzzle.spec(), narrow_net()), 0);
  policy.set_epsilon(0.6);
  Rng rng(1);
  const PolicyDecision drawn = policy.act(puzzle.reset(1), false, rng);
  double sum = 0;
  for (const auto& [primary, index] : {std::pair{0, 0}, {1, 0}, {1, 1}, {1, 2}, {3, 0}}) {
    const auto here = drawn.actions.primary.eq(primary) & drawn.actions.index.eq(index);
    const double told = drawn.log_probability.exp().masked_select(here).mean().item<double>();
    EXPECT_NEAR(here.to(torch::kFloat).mean().item<double>(), told, 0.03);
    sum += told;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(DqnTest, LearnsFromDemonstrationsAlone) {
  LatentPuzzle puzzle(256, 2, 8);
  RandomPolicy random;
  Rng rng(1);
  const Rollout played = play(puzzle, random, false, 1, rng);
  const auto row = played.alive.t().flatten().nonzero().squeeze(1);
  const auto in_order = [&](const torch::Tensor& x) {
    return x.transpose(0, 1).flatten(0, 1).index_select(0, row);
  };
  const auto episode = torch::arange(256).unsqueeze(0).expand({played.steps(), 256});
  const Demonstrations steps{map_tensors(played.observation, in_order),
                             map_tensors(played.actions, in_order), in_order(played.reward),
                             in_order(episode), torch::zeros({row.size(0)}, torch::kBool)};
  DqnTrainer trainer(puzzle.spec(), narrow_net(), DqnConfig{}, 1);
  CloneConfig how;
  how.epochs = 60;
  trainer.imitate(steps, how, 1);
  const Rollout greedy = play(puzzle, trainer.policy(), true, 1, rng);
  EXPECT_FLOAT_EQ(greedy.returns()[0].item<float>(), LatentPuzzle::best_return(2));
}

}  // namespace
}  // namespace reverie
