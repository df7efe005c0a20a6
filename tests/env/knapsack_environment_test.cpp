#include "env/toy/knapsack_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace reverie {
namespace {

using Kind = KnapsackEnvironment;

/// What can be reached from a state by any sequence of actions.
struct Reached {
  double best_return = 0;  ///< of what is left, NO-OP at once included
  double best_value = 0;   ///< as StepInfo::best says
};

void try_all(const Environment& env, double so_far, Reached& reached) {
  const ActionMask mask = env.mask();
  for (int primary = 0; primary < mask.primary_actions(); ++primary) {
    for (int n = 0; n < mask.total(primary); ++n) {
      const auto next = env.fork();
      const StepResult result = next->step(mask.choice(primary, n));
      reached.best_return = std::max(reached.best_return, so_far + result.reward);
      reached.best_value = std::max(reached.best_value, result.info.best);
      if (!result.terminated && !result.truncated) try_all(*next, so_far + result.reward, reached);
    }
  }
}

/// The value after the steps that gain most, until none gains.
double greedy_value(std::unique_ptr<Environment> env) {
  while (true) {
    const ActionMask mask = env->mask();
    std::unique_ptr<Environment> best;
    double most = 0;
    for (const int primary : {Kind::kTake, Kind::kDrop}) {
      for (int n = 0; n < mask.total(primary); ++n) {
        auto next = env->fork();
        const double gain = next->step(mask.choice(primary, n)).reward;
        if (gain <= most) continue;
        most = gain;
        best = std::move(next);
      }
    }
    if (!best) return env->info().metrics[0];
    env = std::move(best);
  }
}

/// The items' values, as the nodes show them.
double value_of_all_items(const Observation& observation) {
  double sum = 0;
  for (size_t node = 1; node < observation.graph.node_types.size(); ++node)
    sum += 10.0 * observation.graph.nodes[4 * node];
  return sum;
}

TEST(KnapsackEnvironment, TheBestReturnOfAllSequencesEndsAtTheOptimum) {
  Kind env({.items = 3, .start_states = 3, .horizon = 5});
  for (int start = 0; start < 2; ++start) {
    env.reset(static_cast<uint64_t>(start));
    const double before = env.info().metrics[0], all = value_of_all_items(env.observe());
    Reached reached{0, env.info().best};
    try_all(env, 0, reached);
    const double optimum = env.optimal_value(start);
    EXPECT_GT(optimum, before) << "something is to be done";
    EXPECT_EQ(reached.best_value, optimum);
    EXPECT_NEAR(reached.best_return, 100 * (optimum - before) / all, 1e-4);
  }
}

TEST(KnapsackEnvironment, GreedyStepsMissTheOptimum) {
  Kind env({.items = 3, .start_states = 2});
  for (int start = 0; start < 2; ++start) {
    env.reset(static_cast<uint64_t>(start));
    EXPECT_LT(greedy_value(env.fork()), env.optimal_value(start));
  }
}

TEST(KnapsackEnvironment, StartsDifferInTheirNumberOfEntities) {
  Kind env({.items = 4, .start_states = 3});
  for (uint64_t start = 0; start < 3; ++start) {
    env.reset(start);
    const Observation observation = env.observe();
    const int items = 4 + static_cast<int>(start);
    EXPECT_EQ(observation.mask.entities, items + 1);
    std::vector<int32_t> own(static_cast<size_t>(items) + 1);
    std::iota(own.begin(), own.end(), 0);
    EXPECT_EQ(observation.graph.node_entities, own);
    EXPECT_EQ(observation.mask.total(Kind::kTake), items - 1) << "the first item is in the bag";
    EXPECT_EQ(observation.mask.of(Kind::kDrop)[1], 1);
  }
}

TEST(KnapsackEnvironment, AnOverloadedBagIsInfeasibleAndNeverTheBest) {
  Kind env({.items = 6, .start_states = 1});
  env.reset(0);
  bool overloaded = false;
  double best = env.info().best;
  for (int item = 2; item <= 6; ++item) {
    const StepResult result = env.step({Kind::kTake, item, 0});
    const double value = result.info.metrics[0], overload = result.info.metrics[1];
    EXPECT_EQ(result.info.feasible, overload == 0);
    if (overload == 0) best = std::max(best, value);
    EXPECT_EQ(result.info.best, best);
    EXPECT_EQ(env.observe().graph.graph_targets[2], overload > 0 ? 1 : 0);
    overloaded |= overload > 0;
  }
  EXPECT_TRUE(overloaded) << "two thirds of the weight are all that it carries";
  EXPECT_GT(env.info().metrics[0], best);
  EXPECT_LT(env.observe().graph.graph_targets[0], 0.5) << "the overload costs more than that";
}

TEST(KnapsackEnvironment, MoreIsBetter) {
  Kind env({.items = 4, .start_states = 1});
  env.reset(0);
  EXPECT_FALSE(env.spec().less_is_better);
  const double before = env.info().best;
  const StepResult dropped = env.step({Kind::kDrop, 1, 0});
  EXPECT_LT(dropped.reward, 0);
  EXPECT_EQ(dropped.info.metrics[0], 0);
  EXPECT_EQ(dropped.info.best, before) << "an empty bag is worth less";
  EXPECT_TRUE(env.spec().better(before, 0));
}

TEST(KnapsackEnvironment, TellsNoGains) {
  Kind env({.items = 4, .start_states = 1});
  env.reset(0);
  EXPECT_FALSE(env.spec().looks_ahead);
  EXPECT_TRUE(env.gains(Kind::kTake).empty());
  EXPECT_TRUE(env.observe().action_features.empty());
}

TEST(KnapsackEnvironment, RefusesSizesOutOfRange) {
  EXPECT_THROW(Kind({.items = 0}), InputError);
  EXPECT_THROW(Kind({.items = 21}), InputError);
  EXPECT_THROW(Kind({.items = 4, .start_states = 0}), InputError);
  EXPECT_THROW(Kind({.items = 4, .start_states = 9}), InputError);
  EXPECT_THROW(Kind({.items = 4, .start_states = 1, .horizon = -1}), InputError);
}

}  // namespace
}  // namespace reverie
