#include "controller/policy/plan_policy.h"

#include <gtest/gtest.h>

#include "controller/policy/actor_critic.h"
#include "controller/train/rollout.h"
#include "env/toy/toy_environment.h"
#include "tests/support/latent_puzzle.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/untrained_world.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/latent/dream.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

constexpr int kPuzzleRounds = 2, kPuzzleHorizon = 8;

/// The puzzle, with what M needs: its z and its h are all that there is.
class PlannedPuzzle : public LatentPuzzle {
 public:
  explicit PlannedPuzzle(int batch) : LatentPuzzle(batch, kPuzzleRounds, kPuzzleHorizon) {}
  LatentObservation observe() const override {
    LatentObservation seen = LatentPuzzle::observe();
    seen.cell = torch::zeros_like(seen.entity_h);
    seen.neighbours = torch::zeros({batch(), 1, 1}, torch::kInt32);
    return seen;
  }
};

/// Knows the puzzle exactly. Counts the sequences that it was asked to go on with at once.
class PuzzleWorld : public WorldModel {
 public:
  explicit PuzzleWorld(const LatentSpec& spec) : spec_(spec) {}
  const LatentSpec& spec() const override { return spec_; }
  void advance(LatentState&, const LatentMask&, const LatentActions&) override {}
  void to_device(torch::Device) override {}
  torch::Device device() const override { return torch::kCPU; }
  void store(Checkpoint&) const override {}

  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions& actions,
                       double, torch::Generator) override {
    const int64_t size = actions.primary.size(0);
    most = std::max(most, size);
    WorldPrediction next{
        state.latents, torch::zeros({size}), torch::zeros({size}, torch::kBool), {}};
    next.latents.z = torch::zeros_like(state.latents.z);
    state.hidden = state.hidden.clone();
    next.mask.totals = torch::zeros_like(mask.totals);
    for (int64_t b = 0; b < size; ++b) {
      const auto primary = actions.primary[b].item<int64_t>();
      const auto index = actions.index[b].item<int64_t>();
      EXPECT_LT(index, mask.totals[b][primary].item<int64_t>());
      step_one(state, next, b, primary, index);
    }
    next.mask.by_entity = next.mask.totals.unsqueeze(2).to(torch::kInt16);
    next.latents.entities = next.latents.z.unsqueeze(1);
    return next;
  }

  int64_t most = 0;

 private:
  using Puzzle = LatentPuzzle;

  static void step_one(LatentState& state, WorldPrediction& next, int64_t b, int64_t primary,
                       int64_t index) {
    int64_t round = state.hidden[b][0].argmax().item<int64_t>();
    if (primary == Puzzle::kTake) next.reward[b] = 0.5;
    if (primary == Puzzle::kRaise) next.reward[b] = -1;
    if (primary == Puzzle::kHarvest && index == 3) next.reward[b] = 3;
    if (primary == Puzzle::kHarvest) ++round;
    const bool opens = primary == Puzzle::kRaise && index == 1;
    const int64_t at = primary == Puzzle::kHarvest ? Puzzle::kReady
                       : opens                     ? Puzzle::kOpen
                                                   : Puzzle::kStuck;
    next.end[b] = primary == Puzzle::kNoOp;
    state.hidden[b].zero_();
    state.hidden[b][0][round] = 1;
    next.latents.z[b][at] = 1;
    auto count = next.mask.totals[b];
    count[Puzzle::kNoOp] = 1;
    if (at == Puzzle::kReady && round < kPuzzleRounds) {
      count[Puzzle::kTake] = 1;
      count[Puzzle::kRaise] = 3;
    }
    if (at == Puzzle::kOpen) count[Puzzle::kHarvest] = 5;
  }

  LatentSpec spec_;
};

struct PuzzlePlan {
  explicit PuzzlePlan(int batch, const PlanConfig& config = {}, Policy* guide = nullptr)
      : puzzle(batch),
        world(std::make_shared<PuzzleWorld>(puzzle.spec())),
        policy(world, config, guide) {}
  Rollout played(bool greedy, uint64_t seed = 1) {
    Rng rng(seed);
    return play(puzzle, policy, greedy, 1, rng);
  }

  PlannedPuzzle puzzle;
  std::shared_ptr<PuzzleWorld> world;
  PlanPolicy policy;
};

TEST(PlanPolicyTest, FindsTheOptimumThatGreedyMisses) {
  PuzzlePlan plan(2);
  const Rollout rollout = plan.played(true);
  EXPECT_TRUE(rollout.returns().eq(LatentPuzzle::best_return(kPuzzleRounds)).all().item<bool>());
  EXPECT_FLOAT_EQ(rollout.value[0][0].item<float>(), LatentPuzzle::best_return(kPuzzleRounds));
}

TEST(PlanPolicyTest, DreamsNoMoreSequencesThanItMay) {
  for (const int64_t sequences : {1, 3, 7}) {
    PuzzlePlan plan(4, {.sequences = sequences});
    const Rollout rollout = plan.played(true);
    EXPECT_EQ(plan.world->most, sequences);
    const double mean = rollout.returns().mean().item<double>();
    // Five pairs of actions show what a raise is good for.
    if (sequences == 7) {
      EXPECT_FLOAT_EQ(mean, LatentPuzzle::best_return(kPuzzleRounds));
    }
  }
}

/// Thinks that one choice in the puzzle, the second of a raise, is `likely`, and all others as
/// likely as one another. Thinks `open` to come from where harvest is possible, and 0 elsewhere.
class Guide : public Policy {
 public:
  Guide(double likely, double open) : likely_(likely), open_(open) {}
  std::string name() const override { return "guide"; }
  PolicyDecision act(const LatentObservation&, bool, Rng&) override { return {}; }
  ActionPriors priors(const LatentObservation& seen) override {
    to_go.push_back(seen.to_go[0].item<float>());
    const ListedActions all = valid_actions(seen.mask);
    const auto liked =
        all.actions.primary.eq(LatentPuzzle::kRaise).logical_and(all.actions.index.eq(1));
    const auto weight = torch::where(liked, likely_ * 100, 1.0).to(torch::kFloat);
    const auto sums = torch::zeros({seen.z.size(0)}).index_add(0, all.state, weight);
    return {all.state, all.actions, (weight / sums.index_select(0, all.state)).log(),
            seen.z.select(1, LatentPuzzle::kOpen) * open_};
  }

  std::vector<float> to_go;

 private:
  double likely_, open_;
};

TEST(PlanPolicyTest, WithAGuideItDreamsTheSequencesThatAreLikeliestUnderIt) {
  // One sequence: the liked raise alone, and what the critic says of the state behind it.
  Guide knows(1, 3);
  PuzzlePlan plan(1, {.sequences = 1, .depth = 1}, &knows);
  plan.puzzle.reset(1);
  Rng rng(1);
  const PolicyDecision decision = plan.policy.act(plan.puzzle.observe(), true, rng);
  EXPECT_EQ(plan.world->most, 1);
  EXPECT_EQ(decision.actions.primary[0].item<int64_t>(), LatentPuzzle::kRaise);
  EXPECT_EQ(decision.actions.index[0].item<int64_t>(), 1);
  EXPECT_FLOAT_EQ(decision.value[0].item<float>(), -1 + 3);
}

TEST(PlanPolicyTest, TheCriticSaysWhatComesAfterTheDepth) {
  // A step ahead: take (0.5), or the raise (-1) with what the critic says of it.
  for (const double open : {1.0, 2.0}) {
    Guide guide(0.01, open);
    PuzzlePlan plan(1, {.depth = 1}, &guide);
    plan.puzzle.reset(1);
    Rng rng(1);
    const PolicyDecision decision = plan.policy.act(plan.puzzle.observe(), true, rng);
    EXPECT_EQ(decision.actions.primary[0].item<int64_t>(),
              open > 1.5 ? LatentPuzzle::kRaise : LatentPuzzle::kTake);
    EXPECT_FLOAT_EQ(decision.value[0].item<float>(), std::max(0.5, open - 1));
    const float a_step = 1.0f / kPuzzleHorizon;
    EXPECT_EQ(guide.to_go, (std::vector<float>{1, 1 - a_step}));
  }
}

TEST(PlanPolicyTest, WhatTheGuideWouldNeverDoIsNotDoneForALittleMore) {
  for (const double likely : {1e-9, 0.01}) {
    Guide guide(likely, 3);
    PuzzlePlan plan(1, {.depth = 1}, &guide);
    plan.puzzle.reset(1);
    Rng rng(1);
    const PolicyDecision decision = plan.policy.act(plan.puzzle.observe(), true, rng);
    EXPECT_EQ(decision.actions.primary[0].item<int64_t>(),
              likely < 0.01 ? LatentPuzzle::kTake : LatentPuzzle::kRaise);
    EXPECT_FLOAT_EQ(decision.value[0].item<float>(), 2) << "it is seen all the same";
  }
}

TEST(PlanPolicyTest, WithAGuideAndNoDepthItDreamsToTheEnd) {
  Guide misled(0.01, -100);
  PuzzlePlan plan(1, {.depth = 0}, &misled);
  EXPECT_FLOAT_EQ(plan.played(true).returns().item<float>(),
                  LatentPuzzle::best_return(kPuzzleRounds));
}

TEST(PlanPolicyTest, SampledEpisodesDifferAndTellTheirProbabilities) {
  constexpr int kStates = 300;
  PuzzlePlan plan(kStates, {.spread = 1});
  Rng rng(1);
  const PolicyDecision drawn = plan.policy.act(plan.puzzle.reset(1), false, rng);
  double sum = 0;
  for (const auto& [primary, index] : {std::pair{0, 0}, {1, 0}, {1, 1}, {1, 2}, {3, 0}}) {
    const auto here = drawn.actions.primary.eq(primary) & drawn.actions.index.eq(index);
    ASSERT_TRUE(here.any().item<bool>());
    const double told = drawn.log_probability.exp().masked_select(here).mean().item<double>();
    EXPECT_NEAR(here.to(torch::kFloat).mean().item<double>(), told, 0.1);
    sum += told;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_GT(plan.played(false).returns().mean().item<double>(), 1);
}

TEST(PlanPolicyTest, PlansFromWhereMHasComeAlongTheRealSteps) {
  const ToyEnvironment toy(ToyConfig{3, 4, 8, true});
  const testing::UntrainedWorld untrained(toy.spec());
  LiveLatentEnvironment live(toy, untrained.encoder, untrained.world, 4);
  RandomPolicy random;
  Rng rng(2);
  LatentObservation seen = live.reset(3);
  LatentState own = untrained.world->begin({seen.z, seen.entities, seen.neighbours});
  for (int step = 0; step < 3; ++step) {
    EXPECT_TRUE(seen.cell.equal(own.cell));
    const LatentActions actions = random.act(seen, false, rng).actions;
    ASSERT_TRUE(actions.primary.ne(toy.spec().no_op()).all().item<bool>());
    untrained.world->advance(own, seen.mask, actions);
    live.step(actions);
    seen = live.observe();
    own.latents = {seen.z, seen.entities, seen.neighbours};
  }
  PlanPolicy plan(untrained.world, {.sequences = 8});
  const Rollout rollout = play(live, plan, false, 3, rng);
  EXPECT_FALSE(rollout.observation.cell.defined() || rollout.observation.neighbours.defined());
  EXPECT_FALSE(rollout.last.cell.defined() || rollout.last.neighbours.defined());
}

TEST(PlanPolicyTest, ADreamShowsNothingThatOnlyMNeeds) {
  ToyEnvironment toy(ToyConfig{2, 4, 8});
  const testing::UntrainedWorld untrained(toy.spec());
  const MemoryEpisodes data = testing::random_episodes(toy, 10, 1);
  const LatentEpisodes episodes(data, encode_states(data, *untrained.encoder));
  DreamEnvironment dream(untrained.world, dream_starts(episodes, *untrained.world), {}, 4);
  const LatentObservation seen = dream.reset(1);
  EXPECT_FALSE(seen.cell.defined() || seen.neighbours.defined());
}

}  // namespace
}  // namespace reverie
