#include "controller/phantoms.h"

#include <gmock/gmock.h>

#include "controller/policy_agent.h"
#include "env/toy/toy_environment.h"
#include "tests/support/first_choice.h"
#include "tests/support/untrained_world.h"
#include "worldmodel/live.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::UntrainedWorld;

/// A policy that always takes the first location of the first rule, existing or not.
class Blind : public Policy {
 public:
  std::string name() const override { return "blind"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    const auto zero = torch::zeros({observation.z.size(0)}, torch::kInt64);
    return {{zero, zero}, torch::zeros({observation.z.size(0)}), {}};
  }
};

/// Believes that every action, NO-OP too, is worth 2 and changes nothing.
class GenerousWorld : public WorldModel {
 public:
  explicit GenerousWorld(LatentSpec spec) : spec_(std::move(spec)) {}
  const LatentSpec& spec() const override { return spec_; }
  void advance(LatentState&, const LatentMask&, const LatentActions&) override {}
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions&, double,
                       torch::Generator) override {
    const int64_t size = mask.counts.size(0);
    return {state.latents, torch::full({size}, 2.0f), torch::zeros({size}, torch::kBool), mask};
  }
  void to_device(torch::Device) override {}
  torch::Device device() const override { return torch::kCPU; }
  void store(Checkpoint&) const override {}

 private:
  LatentSpec spec_;
};

TEST(CheckDreamTest, CountsActionsThatDoNotExist) {
  ToyEnvironment toy(ToyConfig{2, 16, 6});  // starts 5 and 21 have two even blocks: merge exists twice
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
  EXPECT_EQ(check.phantoms, check.actions - 4);
  EXPECT_EQ(check.first_phantom, 2);
  EXPECT_EQ(check.dream_return, 2.0 * toy.spec().horizon);
  EXPECT_NEAR(check.real_return, 100.0 * 8 / 22, 1e-4);  // two merges of 4 out of 22
  EXPECT_NEAR(check.gap(), 2.0 * toy.spec().horizon - 100.0 * 8 / 22, 1e-4);
}

/// Takes the first location of the first rule, then always the second.
class OneAfterTheOther : public Policy {
 public:
  std::string name() const override { return "one after the other"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    const auto later = observation.to_go.lt(0.999).to(torch::kInt64);
    return {{torch::zeros_like(later), later}, torch::zeros_like(observation.to_go), {}};
  }
};

TEST(CheckDreamTest, WhatIsBelievedOfOtherRegionsDoesNotMoveAChoice) {
  ToyEnvironment toy(ToyConfig{2, 16, 6, true});  // start 5: a merge in each block, that is region
  const UntrainedWorld untrained(toy.spec());
  GenerousWorld world(untrained.world->spec());
  OneAfterTheOther policy;
  Rng rng(1);
  EnvCounters counters;
  const std::vector<uint64_t> seeds = {5};
  const DreamCheck check =
      check_dream(*untrained.encoder, world, policy, toy, seeds, true, 0, rng, counters);
  EXPECT_EQ(counters.steps, 2) << "once the first block is merged the second has the only choice left";
  EXPECT_EQ(check.first_phantom, 2);
}

TEST(ExistingActionTest, IsTheChoiceOfTheSameRegion) {
  ActionMask mask;
  mask.counts = {3, 1};
  mask.region_counts = {1, 0, 2, 1, 0, 0};
  const auto real = [&](int primary, int region, int index) {
    return existing_action(mask, {primary, {region, index}}, 3);
  };
  EXPECT_EQ(real(0, 0, 0), (Action{0, 0}));
  EXPECT_EQ(real(0, 2, 1), (Action{0, 2}));
  EXPECT_EQ(real(1, 0, 0), (Action{1, 0}));
  EXPECT_EQ(real(0, 0, 1), std::nullopt);
  EXPECT_EQ(real(0, 1, 0), std::nullopt);
  EXPECT_EQ(real(1, 2, 0), std::nullopt);
}

TEST(ExistingActionTest, IsAChoiceOfTheMaskWhereThatNamesThem) {
  ActionMask mask;
  mask.counts = {2};
  mask.choices = {{3, 7}};
  EXPECT_EQ(existing_action(mask, {0, {0, 1}}, 1), (Action{0, 7}));
  EXPECT_EQ(existing_action(mask, {0, {0, 2}}, 1), std::nullopt);
}

/// The first valid action once, then NO-OP.
class OneThenStop : public Policy {
 public:
  std::string name() const override { return "one, then stop"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    const int64_t last = observation.mask.counts.size(1) - 1;
    const auto first = (observation.mask.counts > 0).to(torch::kInt64).argmax(1);
    const auto primary = torch::where(observation.to_go > 0.999, first, torch::full_like(first, last));
    return {{primary, torch::zeros_like(primary)}, torch::zeros({primary.size(0)}), {}};
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

/// Merges in a world that believes them to be there for ever: start 5 of the toy has two.
struct Dreamer {
  Dreamer()
      : toy(ToyConfig{2, 16, 6}), untrained(toy.spec()),
        policy{untrained.encoder, std::make_shared<GenerousWorld>(untrained.world->spec()), std::make_shared<Blind>()} {}

  RecordedEpisode play(double dreamt) {
    return record_episode(toy, *make_policy_agent(policy, {.salt = 1, .dreamt = dreamt}), 5, Rng(1));
  }

  ToyEnvironment toy;
  UntrainedWorld untrained;
  TrainedPolicy policy;
};

TEST(PolicyAgentTest, ADreamtEpisodeIsPlayedUpToTheFirstPhantom) {
  Dreamer dreamer;
  const Episode episode = dreamer.play(1).episode;
  EXPECT_EQ(episode.agent, "dreamt");
  std::vector<int> taken;
  for (const Transition& step : episode.steps) taken.push_back(step.action.primary);
  EXPECT_THAT(taken, ElementsAre(0, 0, dreamer.toy.spec().no_op()));
  EXPECT_TRUE(episode.steps.back().terminated);
}

TEST(PolicyAgentTest, TheShareIsOfEpisodes) {
  Dreamer dreamer;
  dreamer.policy.policy = std::make_shared<OneThenStop>();
  EXPECT_EQ(dreamer.play(0).episode.agent, "policy");
  const auto agent = make_policy_agent(dreamer.policy, {.salt = 1, .dreamt = 0.25});
  int dreamt = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    Rng rng(i);
    dreamer.toy.reset(5);
    dreamt += agent->begin(dreamer.toy, rng) == "dreamt";
  }
  EXPECT_NEAR(dreamt, 100, 40);
}

TEST(PolicyAgentTest, SeesInEveryEpisodeWhatTheLiveEnvironmentShows) {
  ToyEnvironment toy(ToyConfig{2, 16, 6});
  const UntrainedWorld untrained(toy.spec());
  const auto watcher = std::make_shared<testing::FirstChoice>();
  const auto agent = make_policy_agent({untrained.encoder, untrained.world, watcher}, {.salt = 1, .dreamt = 0});
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
      const Action taken = episode.steps[t].action;
      live.step({torch::tensor({int64_t{taken.primary}}), torch::tensor({int64_t{taken.secondary}})});
      expected = live.observe();
    }
  }
}

class Drifting : public GenerousWorld {
 public:
  using GenerousWorld::GenerousWorld;
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions& actions, double temperature,
                       torch::Generator noise) override {
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
    EXPECT_TRUE(torch::allclose(policy.shown[t].z, policy.shown[0].z + 0.1 * static_cast<double>(t))) << t;
}

}  // namespace
}  // namespace reverie
