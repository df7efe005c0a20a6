#include "env/vector_environment.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "tests/support/random_actions.h"

namespace reverie {
namespace {

constexpr int kSlots = 6;

/// Rewards, states and ends of all slots over random play.
std::vector<double> trace(int workers) {
  const ToyEnvironment toy({.blocks = 3, .start_states = 4, .horizon = 0});
  VectorEnvironment env(toy, kSlots, workers);
  std::vector<uint64_t> seeds;
  for (uint64_t slot = 0; slot < kSlots; ++slot) seeds.push_back(slot);
  env.reset(seeds);
  std::vector<int64_t> all(kSlots);
  std::iota(all.begin(), all.end(), 0);
  std::vector<Observation> observations = env.observe(all);
  Rng rng(1);
  std::vector<double> values;
  for (int step = 0; step < 40; ++step) {
    std::vector<Action> actions;
    for (const Observation& observation : observations)
      actions.push_back(testing::random_action(observation.mask, rng, 0.05));
    const auto results = env.step(actions);
    observations = env.observe(all);
    for (int slot = 0; slot < kSlots; ++slot) {
      const auto i = static_cast<size_t>(slot);
      values.insert(values.end(), {results[i].reward, results[i].info.best,
                                   static_cast<double>(observations[i].state_key >> 12),
                                   static_cast<double>(env.over(slot))});
      if (env.over(slot) && step % 10 == 9) {
        env.reset_slot(slot, rng.bits());
        observations[i] = env.observe(std::vector<int64_t>{slot}).front();
      }
    }
  }
  values.push_back(static_cast<double>(env.counters().steps));
  return values;
}

TEST(VectorEnvironment, ResultsDoNotDependOnTheNumberOfWorkers) {
  const auto expected = trace(1);
  EXPECT_EQ(trace(2), expected);
  EXPECT_EQ(trace(4), expected);
}

TEST(VectorEnvironment, AFinishedSlotWaitsForItsReset) {
  const ToyEnvironment toy({.blocks = 1, .start_states = 1, .horizon = 0});
  VectorEnvironment env(toy, 2);
  env.reset(std::vector<uint64_t>{0, 0});
  const std::vector<Action> actions{{ToyEnvironment::kNoOp, 0, 0},
                                    {ToyEnvironment::kEnlarge, 0, 0}};
  EXPECT_TRUE(env.step(actions)[0].terminated);
  const auto again = env.step({{{ToyEnvironment::kMerge, 0, 0}, {ToyEnvironment::kMerge, 0, 0}}});
  EXPECT_EQ(again[0].reward, 0);
  EXPECT_GT(again[1].reward, 0);
  EXPECT_EQ(env.counters().steps, 3);
  env.reset_slot(0, 0);
  EXPECT_FALSE(env.over(0));
}

TEST(VectorEnvironment, WhatASlotThrowsReachesTheCaller) {
  const ToyEnvironment toy({.blocks = 1, .start_states = 1, .horizon = 0});
  VectorEnvironment env(toy, 4, 2);
  env.reset(std::vector<uint64_t>(4, 0));
  std::vector<Action> actions(4, {ToyEnvironment::kNoOp, 0, 0});
  actions[2] = {ToyEnvironment::kFold, 0, 0};
  EXPECT_THROW(env.step(actions), InputError);
}

}  // namespace
}  // namespace reverie
