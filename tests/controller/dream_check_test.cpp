#include "controller/validate/dream_check.h"

#include <gmock/gmock.h>

#include "controller/rounds/policy_agent.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/first_choice.h"
#include "tests/support/untrained_world.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using testing::UntrainedWorld;

/// B times the same action.
PolicyDecision all_take(const LatentObservation& observation, const Action& action) {
  const auto size = static_cast<size_t>(observation.z.size(0));
  return {
      latent_actions(std::vector<Action>(size, action)), torch::zeros({observation.z.size(0)}), {}};
}

/// A policy that always takes the same action, valid or not: by default the first choice of the
/// first.
class Blind : public Policy {
 public:
  explicit Blind(Action action = {}) : action_(action) {}
  std::string name() const override { return "blind"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    return all_take(observation, action_);
  }

 private:
  Action action_;
};

/// Believes that every action, NO-OP too, is worth 2 and changes nothing.
class GenerousWorld : public WorldModel {
 public:
  explicit GenerousWorld(LatentSpec spec) : spec_(std::move(spec)) {}
  const LatentSpec& spec() const override { return spec_; }
  void advance(LatentState&, const LatentMask&, const LatentActions&) override {}
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions&, double,
                       torch::Generator) override {
    const int64_t size = mask.totals.size(0);
    return {state.latents, torch::full({size}, 2.0f), torch::zeros({size}, torch::kBool), mask};
  }
  void to_device(torch::Device) override {}
  torch::Device device() const override { return torch::kCPU; }
  void store(Checkpoint&) const override {}

 private:
  LatentSpec spec_;
};

TEST(CheckDreamTest, CountsInvalidActions) {
  ToyEnvironment toy(
      ToyConfig{2, 16, 6});  // starts 5 and 21 have two even blocks: merge exists twice
  const UntrainedWorld untrained(toy.spec());
  GenerousWorld world(untrained.world->spec());
  Blind policy;
  Rng rng(1);
  EnvCounters counters;
  const std::vector<uint64_t> seeds = {5, 21};
  const DreamCheck check =
      check_dream(*untrained.encoder, world, policy, toy, seeds, true, 0, rng, counters);
  EXPECT_EQ(check.episodes, 2);
  EXPECT_EQ(check.actions, 2 * toy.spec().horizon);
  EXPECT_EQ(counters.resets, 2);
  EXPECT_EQ(counters.steps, 4);
  EXPECT_EQ(check.invalid, check.actions - 4);
  EXPECT_EQ(check.first_invalid, 2);
  EXPECT_EQ(check.dream_return, 2.0 * toy.spec().horizon);
  EXPECT_NEAR(check.real_return, 100.0 * 8 / 22, 1e-4);  // two merges of 4 out of 22
  EXPECT_NEAR(check.gap(), 2.0 * toy.spec().horizon - 100.0 * 8 / 22, 1e-4);
}

/// Takes the first action at entity 0, then always at entity 1.
class OneAfterTheOther : public Policy {
 public:
  std::string name() const override { return "one after the other"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    const bool first = observation.to_go[0].item<double>() > 0.999;
    return all_take(observation, {0, first ? 0 : 1, 0});
  }
};

TEST(CheckDreamTest, WhatIsBelievedOfOtherEntitiesDoesNotMoveAChoice) {
  ToyEnvironment toy(ToyConfig{2, 16, 6, true});  // start 5: a merge in each block, that is entity
  const UntrainedWorld untrained(toy.spec());
  GenerousWorld world(untrained.world->spec());
  OneAfterTheOther policy;
  Rng rng(1);
  EnvCounters counters;
  const std::vector<uint64_t> seeds = {5};
  const DreamCheck check =
      check_dream(*untrained.encoder, world, policy, toy, seeds, true, 0, rng, counters);
  EXPECT_EQ(counters.steps, 2)
      << "once the first block is merged the second has the only choice left";
  EXPECT_EQ(check.first_invalid, 2);
}

/// Start 4 of the toy can merge in its second block alone.
TEST(CheckDreamTest, AnActionIsInvalidAtAnEntityThatLacksItAlthoughAnotherHasIt) {
  ToyEnvironment toy(ToyConfig{2, 16, 6, true});
  toy.reset(4);
  ASSERT_EQ(toy.mask().at(ToyEnvironment::kMerge, 0), 0);
  ASSERT_EQ(toy.mask().at(ToyEnvironment::kMerge, 1), 1);
  const UntrainedWorld untrained(toy.spec());
  GenerousWorld world(untrained.world->spec());
  for (const int block : {0, 1}) {
    Blind policy(Action{ToyEnvironment::kMerge, block, 0});
    Rng rng(1);
    EnvCounters counters;
    const std::vector<uint64_t> seeds = {4};
    const DreamCheck check =
        check_dream(*untrained.encoder, world, policy, toy, seeds, true, 0, rng, counters);
    EXPECT_EQ(check.first_invalid, block) << "the merge of the second block is there once";
    EXPECT_EQ(check.actions - check.invalid, block);
    EXPECT_EQ(counters.steps, block);
    EXPECT_EQ(check.real_return > 0, block == 1);
  }
}

TEST(CheckDreamTest, AnEntityThatAStartLacksHasNoActions) {
  KnapsackEnvironment knapsack(KnapsackConfig{.items = 2, .start_states = 2});
  const UntrainedWorld untrained(knapsack.spec());
  GenerousWorld world(untrained.world->spec());
  Blind policy(Action{KnapsackEnvironment::kTake, 3,
                      0});  // the third item, which the second start alone has
  Rng rng(1);
  EnvCounters counters;
  const std::vector<uint64_t> seeds = {0, 1};
  const DreamCheck check =
      check_dream(*untrained.encoder, world, policy, knapsack, seeds, true, 0, rng, counters);
  EXPECT_EQ(counters.steps, 1);
  EXPECT_EQ(check.first_invalid, 0.5);
}

TEST(CheckDreamTest, ItsMetricsHaveNames) {
  const DreamCheck check{.episodes = 2,
                         .actions = 8,
                         .invalid = 2,
                         .first_invalid = 3,
                         .dream_return = 5,
                         .real_return = 1};
  EXPECT_THAT(check.metrics(), ElementsAre(Pair("invalid_action_rate", 0.25),
                                           Pair("first_invalid_action", 3), Pair("dream_return", 5),
                                           Pair("replayed_return", 1), Pair("return_gap", 4)));
}

/// The first valid action once, then NO-OP.
class OneThenStop : public Policy {
 public:
  std::string name() const override { return "one, then stop"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    const int64_t last = observation.mask.totals.size(1) - 1;
    const auto first = (observation.mask.totals > 0).to(torch::kInt64).argmax(1);
    const auto primary =
        torch::where(observation.to_go > 0.999, first, torch::full_like(first, last));
    const LatentActions actions = choice_at(observation.mask, primary, torch::zeros_like(primary));
    return {actions, torch::zeros({primary.size(0)}), {}};
  }
};

TEST(CheckDreamTest, WhatNoOpIsBelievedToBeWorthCounts) {
  ToyEnvironment toy(ToyConfig{2, 16, 6});
  const UntrainedWorld untrained(toy.spec());
  GenerousWorld world(untrained.world->spec());
  OneThenStop policy;
  Rng rng(1);
  EnvCounters counters;
  const std::vector<uint64_t> seeds = {5, 21};
  const DreamCheck check =
      check_dream(*untrained.encoder, world, policy, toy, seeds, true, 0, rng, counters);
  EXPECT_EQ(check.actions, 4);
  EXPECT_EQ(check.dream_return, 4);
}

TEST(PolicyAgentTest, SeesInEveryEpisodeWhatTheLiveEnvironmentShows) {
  ToyEnvironment toy(ToyConfig{2, 16, 6});
  const UntrainedWorld untrained(toy.spec());
  const auto watcher = std::make_shared<testing::FirstChoice>();
  const auto agent = make_policy_agent({untrained.encoder, untrained.world, watcher}, 1);
  for (const uint64_t seed : {5, 21}) {
    watcher->shown.clear();
    const Episode episode = record_episode(toy, *agent, seed, Rng(1)).episode;
    ASSERT_GT(episode.steps.size(), 2u);
    ASSERT_EQ(watcher->shown.size(), episode.steps.size());
    LiveLatentEnvironment live(toy, untrained.encoder, untrained.world, 1);
    LatentObservation expected = live.reset(seed);
    for (size_t t = 0; t < episode.steps.size(); ++t) {
      EXPECT_TRUE(torch::allclose(watcher->shown[t].h, expected.h)) << t;
      EXPECT_TRUE(torch::allclose(watcher->shown[t].to_go, expected.to_go)) << t;
      live.step(latent_actions({&episode.steps[t].action, 1}));
      expected = live.observe();
    }
  }
}

class Drifting : public GenerousWorld {
 public:
  using GenerousWorld::GenerousWorld;
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions& actions,
                       double temperature, torch::Generator noise) override {
    WorldPrediction next = GenerousWorld::step(state, mask, actions, temperature, noise);
    next.latents.z = next.latents.z + 0.1;
    return next;
  }
};

TEST(DreamFromTest, GoesOnFromWhatWasDreamt) {
  ToyEnvironment toy(ToyConfig{2, 16, 6});
  toy.reset(5);
  const UntrainedWorld untrained(toy.spec());
  Drifting world(untrained.world->spec());
  testing::FirstChoice policy;
  Rng rng(1);
  const Environment* const start[] = {&toy};
  dream_from(start, *untrained.encoder, world, policy, true, 0, rng);
  ASSERT_EQ(policy.shown.size(), 6u);
  for (size_t t = 0; t < 6; ++t)
    EXPECT_TRUE(
        torch::allclose(policy.shown[t].z, policy.shown[0].z + 0.1 * static_cast<double>(t)))
        << t;
}

}  // namespace
}  // namespace reverie
