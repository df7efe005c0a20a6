#include "worldmodel/latent/grey_box.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "env/adapt/adapt_environment.h"
#include "env/toy/knapsack_environment.h"
#include "tests/env/adapt/tables.h"
#include "tests/support/counting_environment.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/untrained_world.h"
#include "tests/worldmodel/latent_conformance.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using testing::MadeUpTraining;

constexpr int kTrajectories = 5;

std::unique_ptr<Environment> adapt() {
  std::vector<AdaptStart> starts;
  for (const MadeUpTraining& training :
       {MadeUpTraining{.decisions = 3, .runs = 2, .scenario = "long"},
        MadeUpTraining{.scenario = "short", .cost = 1e-4}})
    starts.push_back({table_source(testing::made_up_table(training)), 3});
  return std::make_unique<AdaptEnvironment>(std::move(starts), AdaptReward::kAccuracy);
}

/// Untrained V, and an M whose outcome learned from some episodes.
struct Scene {
  Scene() : environment(adapt()), untrained(environment->spec()) {
    const MemoryEpisodes data = testing::random_episodes(*environment, 20, 1);
    Checkpoint stored = untrained.checkpoint();
    OutcomeConfig config;
    config.steps = 20;
    const OutcomeEnsemble outcome = train_outcome(data, config, 1);
    stored.configs["outcome"] = dump_config(config);
    store_module(stored, "outcome", *outcome);
    world = load_world_model(stored);
  }
  std::unique_ptr<GreyBoxEnvironment> grey_box() const {
    return std::make_unique<GreyBoxEnvironment>(known_starts(*environment, environment->spec()),
                                                untrained.encoder, world, kTrajectories);
  }

  std::unique_ptr<Environment> environment;
  testing::UntrainedWorld untrained;
  std::shared_ptr<WorldModel> world;
};

TEST(GreyBox, Conforms) {
  const Scene scene;
  testing::check_latent_environment([&] { return scene.grey_box(); });
}

TEST(GreyBox, MasksAndEndsAreThoseOfTheRealEnvironmentAndRewardsAreMs) {
  const Scene scene;
  const auto grey_box = scene.grey_box();
  LiveLatentEnvironment live(*scene.environment, scene.untrained.encoder, scene.world,
                             kTrajectories);
  LatentObservation dreamt = grey_box->reset_in_turn();
  testing::expect_equal(dreamt, live.reset(0));
  Rng rng(5);
  bool rewarded = false;
  for (int step = 0; step < 3; ++step) {
    const LatentActions actions = testing::random_latent_actions(dreamt.mask, rng);
    const LatentStep real = live.step(actions), said = grey_box->step(actions);
    EXPECT_TRUE(torch::equal(said.terminated, real.terminated));
    EXPECT_TRUE(torch::equal(said.truncated, real.truncated));
    EXPECT_TRUE(torch::equal(said.reward.ne(0), real.reward.ne(0))) << "at the end alone";
    EXPECT_TRUE(said.reward.allclose(grey_box->member_rewards().mean(0)));
    rewarded |= said.reward.ne(0).any().item<bool>();
    dreamt = grey_box->observe();
    const LatentObservation reached = live.observe();
    EXPECT_TRUE(torch::equal(dreamt.mask.by_entity, reached.mask.by_entity));
    EXPECT_TRUE(torch::equal(dreamt.to_go, reached.to_go));
  }
  EXPECT_TRUE(rewarded);
  EXPECT_FALSE(torch::equal(dreamt.z, live.observe().z)) << "accuracies are M's";
  EXPECT_EQ(grey_box->counters().steps, 0);
}

TEST(GreyBox, WhatMSaysOfLearnedColumnsIsWhatVSees) {
  const Scene scene;
  auto known = known_starts(*scene.environment, scene.environment->spec());
  const std::vector<float> told = {0.5f, 0.4f, 0.01f, 0.6f};
  known.front()->tell(told);
  EXPECT_EQ(learned_of(known.front()->spec(), known.front()->observe().graph), told);
  const uint64_t key = known.front()->observe().state_key;
  known.front()->tell(std::vector<float>{0.5f, 0.4f, 0.01f, 0.7f});
  EXPECT_NE(known.front()->observe().state_key, key);
}

/// Start states with different numbers of entities, all of which is computed.
TEST(GreyBox, WhereAllIsKnownItPlaysAsLiveDoesAndDoesNoRealWork) {
  const KnapsackEnvironment knapsack({.items = 4, .start_states = 3});
  const testing::UntrainedWorld untrained(knapsack.spec());
  const auto grey_box = [&] {
    return std::make_unique<GreyBoxEnvironment>(known_starts(knapsack, knapsack.spec()),
                                                untrained.encoder, untrained.world, kTrajectories);
  };
  testing::check_latent_environment(grey_box);
  const auto computed = grey_box();
  LiveLatentEnvironment live(knapsack, untrained.encoder, untrained.world, kTrajectories);
  LatentObservation observation = live.reset(0);
  testing::expect_equal(computed->reset_in_turn(), observation);
  Rng rng(5);
  auto rewards = torch::zeros({kTrajectories});
  for (int i = 0; i < 5; ++i) {
    const LatentActions actions = testing::random_latent_actions(observation.mask, rng);
    const LatentStep real = live.step(actions), step = computed->step(actions);
    EXPECT_TRUE(torch::equal(real.reward, step.reward));
    EXPECT_TRUE(torch::equal(real.terminated, step.terminated));
    EXPECT_TRUE(torch::equal(computed->member_rewards(), step.reward.unsqueeze(0)));
    rewards += step.reward.abs();
    observation = live.observe();
    testing::expect_equal(computed->observe(), observation);
  }
  EXPECT_TRUE(rewards.gt(0).any().item<bool>());
  EXPECT_GT(live.counters().steps, kTrajectories);
  EXPECT_EQ(live.computed_steps(), 0);
  EXPECT_EQ(computed->computed_steps(), live.counters().steps);
  EXPECT_EQ(computed->counters().steps, 0);
  EXPECT_EQ(computed->counters().resets, 0);
}

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(GreyBox, IsRefusedWhereNothingIsKnownOrNothingWasLearned) {
  const testing::CountingEnvironment counting(7);
  EXPECT_THAT(error_of([&] { known_starts(counting, counting.spec()); }),
              HasSubstr("does not know its dynamics"));
  const Scene scene;
  EXPECT_THAT(error_of([&] {
                GreyBoxEnvironment(known_starts(*scene.environment, scene.environment->spec()),
                                   scene.untrained.encoder, scene.untrained.world, kTrajectories);
              }),
              HasSubstr("mdnrnn.outcome.members"));
}

}  // namespace
}  // namespace reverie
