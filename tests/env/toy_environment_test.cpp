#include "env/toy/toy_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "core/base/error.h"

namespace reverie {
namespace {

/// The lowest cost that any sequence of actions reaches, by visiting every state. `shortest` takes
/// the fewest steps to it.
double exhaustive_optimum(const ToyConfig& config, uint64_t start, int* shortest) {
  ToyConfig endless = config;
  endless.horizon = 1000;
  auto first = std::make_unique<ToyEnvironment>(endless);
  first->reset(start);
  std::map<uint64_t, int> depth{{first->observe().state_key, 0}};
  std::queue<std::unique_ptr<Environment>> open;
  open.push(std::move(first));
  double best = std::numeric_limits<double>::infinity();
  while (!open.empty()) {
    const auto env = std::move(open.front());
    open.pop();
    const int steps = depth.at(env->observe().state_key);
    if (env->info().metrics[0] < best) {
      best = env->info().metrics[0];
      *shortest = steps;
    }
    const ActionMask mask = env->mask();
    for (int primary = 0; primary < env->spec().no_op(); ++primary) {
      for (int n = 0; n < mask.total(primary); ++n) {
        auto next = env->fork();
        next->step(mask.choice(primary, n));
        if (depth.emplace(next->observe().state_key, steps + 1).second) open.push(std::move(next));
      }
    }
  }
  return best;
}

double greedy(Environment& env, uint64_t start) {
  env.reset(start);
  for (;;) {
    const ActionMask mask = env.mask();
    Action best{env.spec().no_op(), 0, 0};
    double gain = 0;
    for (int primary = 0; primary < env.spec().no_op(); ++primary) {
      const auto gains = env.gains(primary);
      for (size_t i = 0; i < gains.size(); ++i)
        if (gains[i] > gain) {
          gain = gains[i];
          best = mask.choice(primary, static_cast<int>(i));
        }
    }
    const StepResult result = env.step(best);
    if (result.terminated || result.truncated) return result.info.best;
  }
}

TEST(ToyEnvironment, ClosedFormIsWhatExhaustiveSearchFinds) {
  const ToyConfig config{.blocks = 3, .start_states = 64, .horizon = 0};
  const ToyEnvironment env(config);
  for (const uint64_t start : {0, 1, 2, 3, 13, 42, 63}) {
    int shortest = 0;
    EXPECT_EQ(exhaustive_optimum(config, start, &shortest),
              env.optimal_cost(static_cast<int>(start)));
    EXPECT_LT(shortest, env.spec().horizon);
  }
}

TEST(ToyEnvironment, GreedyMissesTheOptimumWhereABlockIsUneven) {
  ToyEnvironment env({.blocks = 3, .start_states = 64, .horizon = 0});
  for (int start = 0; start < 64; ++start) {
    const bool all_even = (start & 0b010101) == 0b010101;
    const bool any_late = (start & 0b101010) != 0;
    const double found = greedy(env, static_cast<uint64_t>(start));
    if (all_even && !any_late) {
      EXPECT_EQ(found, env.optimal_cost(start));
    } else {
      EXPECT_GT(found, env.optimal_cost(start)) << start;
    }
  }
}

TEST(ToyEnvironment, TheWayToTheOptimumFirstCosts) {
  ToyEnvironment env({.blocks = 1, .start_states = 1, .horizon = 0});
  env.reset(0);
  EXPECT_EQ(env.info().metrics[0], 13);
  EXPECT_LT(env.step({ToyEnvironment::kEnlarge, 0, 0}).reward, 0);
  EXPECT_EQ(env.info().metrics[0], 15);
  EXPECT_GT(env.step({ToyEnvironment::kMerge, 0, 0}).reward, 0);
  const StepResult last = env.step({ToyEnvironment::kFold, 0, 0});
  EXPECT_EQ(env.info().metrics[0], 8);
  EXPECT_EQ(env.optimal_cost(0), 8);
  EXPECT_TRUE(last.terminated) << "nothing is left to do";
}

TEST(ToyEnvironment, RewardsAddUpToTheImprovement) {
  ToyEnvironment env({.blocks = 2, .start_states = 1, .horizon = 0});
  env.reset(0);
  double sum = 0;
  for (const Action action : {Action{1, 0, 0}, {1, 0, 0}, {0, 0, 1}, {0, 0, 0}})
    sum += env.step(action).reward;
  EXPECT_NEAR(sum, 100.0 * (26 - env.info().metrics[0]) / 26, 1e-9);
}

TEST(ToyEnvironment, BlocksAreEntitiesWhereAskedFor) {
  ToyEnvironment env({.blocks = 3, .start_states = 1, .horizon = 0, .entities = true});
  env.reset(0);
  const Observation before = env.observe();
  EXPECT_EQ(before.graph.node_entities,
            (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}));
  const auto row = [](const Observation& observation, int primary) {
    const auto counts = observation.mask.of(primary);
    return std::vector<int>(counts.begin(), counts.end());
  };
  EXPECT_EQ(row(before, ToyEnvironment::kEnlarge), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(row(before, ToyEnvironment::kMerge), (std::vector<int>{0, 0, 0}));
  env.step({ToyEnvironment::kEnlarge, 1, 0});
  const Observation after = env.observe();
  EXPECT_EQ(row(after, ToyEnvironment::kEnlarge), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(row(after, ToyEnvironment::kMerge), (std::vector<int>{0, 1, 0}));
  EXPECT_NEAR(after.action_features[3 * ToyEnvironment::kMerge + 1], 100.0 * 6 / 39, 1e-5);
  EXPECT_EQ(after.action_features[3 * ToyEnvironment::kMerge], 0);
}

TEST(ToyEnvironment, EntitiesChangeNothingButWhereChoicesLie) {
  ToyEnvironment flat({.blocks = 4, .start_states = 256, .horizon = 20});
  ToyEnvironment cut({.blocks = 4, .start_states = 256, .horizon = 20, .entities = true});
  flat.reset(77);
  cut.reset(77);
  for (const Action action : {Action{3, 0, 2}, {1, 0, 1}, {0, 0, 0}, {3, 0, 0}}) {
    const Observation whole = flat.observe();
    GraphFeatures graph = cut.observe().graph;
    graph.node_entities = whole.graph.node_entities;
    EXPECT_EQ(graph, whole.graph);
    for (int primary = 0; primary < flat.spec().primary_actions(); ++primary) {
      EXPECT_EQ(cut.mask().total(primary), whole.mask.total(primary));
      EXPECT_EQ(cut.gains(primary), flat.gains(primary));
    }
    const Action same = cut.mask().choice(action.primary, action.index);
    EXPECT_EQ(cut.step(same).reward, flat.step(action).reward);
  }
}

TEST(ToyEnvironment, RefusesSizesOutOfRange) {
  EXPECT_THROW(ToyEnvironment({.blocks = 1001}), InputError);
  EXPECT_THROW(ToyEnvironment({.blocks = 0}), InputError);
  EXPECT_THROW(ToyEnvironment({.blocks = 2, .start_states = 17}), InputError);
  EXPECT_THROW(ToyEnvironment({.blocks = 2, .start_states = 1, .horizon = -1}), InputError);
}

}  // namespace
}  // namespace reverie
