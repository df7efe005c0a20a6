#include "env/environment_problem.h"

#include <gtest/gtest.h>

#include "core/search/algorithms.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/problem_conformance.h"

namespace reverie {
namespace {

using testing::check_problem;

/// Uneven blocks, the first one even where `start` is 1: no step gains in an uneven one before one
/// that costs.
ToyEnvironment toy(int horizon = 0, int start = 2, bool entities = false) {
  ToyEnvironment environment(
      {.blocks = 3, .start_states = 4, .horizon = horizon, .entities = entities});
  environment.reset(static_cast<uint64_t>(start));
  return environment;
}

KnapsackEnvironment knapsack(int start) {
  KnapsackEnvironment environment({.items = 6, .start_states = 3});
  environment.reset(static_cast<uint64_t>(start));
  return environment;
}

double objective(const Environment& environment) {
  return environment.info().objective(environment.spec());
}

std::shared_ptr<const Problem> problem(const Environment& environment) {
  return std::make_shared<const EnvironmentProblem>(environment);
}

double optimum(const ToyEnvironment& environment) { return environment.optimal_cost(2); }

TEST(EnvironmentProblemTest, IsAProblem) {
  for (uint64_t seed = 1; seed <= 5; ++seed) check_problem(*problem(toy(0, 1)), 30, seed);
  check_problem(*problem(toy(3)), 30);
  check_problem(*problem(toy(0, 2, true)), 30);
  check_problem(*problem(knapsack(1)), 30);
  const double limit = objective(toy()) + 1;
  check_problem(
      EnvironmentProblem(toy(), [&](const Environment& state) { return objective(state) < limit; }),
      30);
}

TEST(EnvironmentProblemTest, SearchesFindTheOptimumThatGreedyMisses) {
  const ToyEnvironment environment = toy();
  SearchOptions options;
  options.budget = 400;
  ASSERT_GT(solve(problem(environment), options, search::Greedy()).best.cost, optimum(environment));
  for (const Search& search : std::vector<Search>{search::Exhaustive(), search::Taso{.alpha = 2},
                                                  search::Beam{.width = 200}, search::Mcts()}) {
    const SearchOutcome outcome = solve(problem(environment), options, search);
    EXPECT_EQ(outcome.best.cost, optimum(environment));
    ToyEnvironment played = toy();
    for (const Move& move : outcome.best.path.moves()) played.step(action_of(move));
    EXPECT_EQ(objective(played), outcome.best.cost);
  }
  EXPECT_TRUE(solve(problem(environment), options, search::Exhaustive()).optimal);
}

TEST(EnvironmentProblemTest, EntitiesAreNoOtherProblem) {
  SearchOptions options;
  options.budget = 20;
  for (const Search& search :
       std::vector<Search>{search::Greedy(), search::Taso(), search::Exhaustive()})
    EXPECT_EQ(solve(problem(toy()), options, search).best.cost,
              solve(problem(toy(0, 2, true)), options, search).best.cost);
}

TEST(EnvironmentProblemTest, MoreIsBetterAndTheResultIsFeasible) {
  for (int start = 0; start < 3; ++start) {
    const KnapsackEnvironment environment = knapsack(start);
    const SearchOutcome outcome = solve(problem(environment), {}, search::Exhaustive());
    EXPECT_EQ(-outcome.best.cost, environment.optimal_value(start));
    KnapsackEnvironment played = knapsack(start);
    for (const Move& move : outcome.best.path.moves()) played.step(action_of(move));
    EXPECT_TRUE(played.info().feasible);
    EXPECT_EQ(objective(played), -outcome.best.cost);
  }
}

TEST(EnvironmentProblemTest, TheHorizonEndsPaths) {
  SearchOptions options;
  options.budget = 3000;
  const SearchOutcome outcome = solve(problem(toy(2)), options, search::Beam{.width = 200});
  EXPECT_LE(outcome.best.path.size(), 2u);
  EXPECT_GT(outcome.best.cost, optimum(toy()));
  EXPECT_EQ(outcome.stopped_by, StoppedBy::kExhausted);
}

/// A state that was met early in an episode is met again at its end, on a longer way.
TEST(EnvironmentProblemTest, TreeSearchGoesNoFurtherThanAnEpisode) {
  SearchOptions options;
  options.budget = 400;
  for (const int horizon : {3, 5, 8}) {
    const SearchOutcome outcome = solve(problem(toy(horizon)), options, search::Mcts());
    EXPECT_LE(outcome.best.path.size(), static_cast<size_t>(horizon));
  }
  const KnapsackEnvironment environment = knapsack(0);
  EXPECT_EQ(-solve(problem(environment), options, search::Mcts()).best.cost,
            environment.optimal_value(0));
}

TEST(EnvironmentProblemTest, WhatIsNotAllowedIsNotReached) {
  const ToyEnvironment start = toy(0, 1);
  const double limit = objective(start);
  const auto bounded = std::make_shared<const EnvironmentProblem>(
      start, [&](const Environment& state) { return objective(state) < limit; });
  SearchOptions options;
  for (const Search& search : std::vector<Search>{search::Exhaustive(), search::Taso(),
                                                  search::Beam(), search::RandomWalks()}) {
    SearchRun run(bounded, options, [&](const Problem& state, const Path& path) {
      EXPECT_TRUE(path.empty() || objective(environment_problem(state).environment()) < limit);
    });
    search(run);
    EXPECT_LT(run.finish().best.cost, limit);
  }
}

}  // namespace
}  // namespace reverie
