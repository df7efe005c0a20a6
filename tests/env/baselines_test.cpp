#include "env/baselines.h"

#include <gmock/gmock.h>

#include <set>

#include "core/base/error.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"

namespace reverie {
namespace {

std::unique_ptr<EvaluationCases> knapsacks() {
  return plain_cases(
      std::make_unique<KnapsackEnvironment>(KnapsackConfig{.items = 6, .start_states = 3}),
      {"a warning"});
}

std::unique_ptr<EvaluationCases> toys() {
  return plain_cases(std::make_unique<ToyEnvironment>(ToyConfig{.blocks = 3, .start_states = 4}),
                     {});
}

MethodResult run(const EvaluationCase& start, const std::string& name, uint64_t seed = 1) {
  for (const EvaluationMethod& method : start.baselines())
    if (method.name == name) return method.run({seed, 0});
  throw InternalError("no baseline of this name");
}

TEST(Baselines, AreThereForEveryStartStateAlone) {
  const auto cases = knapsacks();
  ASSERT_EQ(cases->cases().size(), 3u);
  EXPECT_THAT(cases->warnings(), ::testing::ElementsAre("a warning"));
  for (size_t i = 0; i < 3; ++i) {
    const auto environment = cases->cases()[i]->make();
    ASSERT_EQ(environment->spec().start_states(), 1);
    EXPECT_EQ(environment->spec().starts.front(), cases->spec().starts[i]);
    const auto baselines = cases->cases()[i]->baselines();
    ASSERT_EQ(baselines.size(), 2u);
    EXPECT_TRUE(baselines[0].draws && baselines[0].equal_time) << baselines[0].name;
    EXPECT_FALSE(baselines[1].draws || baselines[1].equal_time) << baselines[1].name;
  }
}

TEST(Baselines, GreedyTriesChoicesOnForksWhereNothingLooksAhead) {
  const KnapsackEnvironment knapsack({.items = 6, .start_states = 3});
  const auto cases = knapsacks();
  for (int start = 0; start < 3; ++start) {
    const auto& one = *cases->cases()[static_cast<size_t>(start)];
    const auto environment = one.make();
    environment->reset(0);
    const double first = environment->info().best;
    const MethodResult greedy = run(one, "greedy");
    EXPECT_GE(greedy.best, first);
    EXPECT_LE(greedy.best, knapsack.optimal_value(start));
    EXPECT_EQ(greedy.metrics, (std::vector<double>{greedy.best, 0}));
    EXPECT_EQ(greedy.candidates + static_cast<int64_t>(greedy.trace.size()), greedy.work.steps)
        << "a step for each choice that is tried, and those that are taken, NO-OP included";
    EXPECT_EQ(greedy.trace.back().best, greedy.best);
  }
}

TEST(Baselines, GreedyTakesNoStepToLookAhead) {
  const auto cases = toys();
  const ToyEnvironment toy({.blocks = 3, .start_states = 4});
  for (size_t start = 0; start < 4; ++start) {
    const MethodResult greedy = run(*cases->cases()[start], "greedy");
    EXPECT_GT(greedy.candidates, greedy.work.steps);
    EXPECT_GE(greedy.best, toy.optimal_cost(static_cast<int>(start)));
  }
}

TEST(Baselines, RandomCountsFeasibleStatesAlone) {
  const auto cases = knapsacks();
  const KnapsackEnvironment knapsack({.items = 6, .start_states = 3});
  for (int start = 0; start < 3; ++start)
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const MethodResult random = run(*cases->cases()[static_cast<size_t>(start)], "random", seed);
      EXPECT_EQ(random.metrics.at(1), 0) << "overloaded";
      EXPECT_LE(random.best, knapsack.optimal_value(start));
      EXPECT_GT(random.work.steps, 0);
    }
}

TEST(Baselines, RandomIsItsSeeds) {
  const auto cases = toys();
  std::set<double> found;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const MethodResult one = run(*cases->cases()[0], "random", seed);
    EXPECT_EQ(one.best, run(*cases->cases()[0], "random", seed).best);
    found.insert(static_cast<double>(one.work.steps) + one.best / 1000);
  }
  EXPECT_GT(found.size(), 1u) << "seeds draw differently";
}

}  // namespace
}  // namespace reverie
