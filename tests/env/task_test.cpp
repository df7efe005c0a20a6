#include "env/task.h"

#include <gmock/gmock.h>

#include <set>

#include "core/base/error.h"
#include "env/environment_problem.h"
#include "env/solver.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/renamed_environment.h"

namespace reverie {
namespace {

std::unique_ptr<Tasks> knapsacks() {
  return plain_tasks(
      std::make_unique<KnapsackEnvironment>(KnapsackConfig{.items = 6, .start_states = 3}),
      {"a warning"});
}

std::unique_ptr<Tasks> toys() {
  return plain_tasks(std::make_unique<ToyEnvironment>(ToyConfig{.blocks = 3, .start_states = 4}),
                     {});
}

Result run(const Task& start, const std::string& name, const SearchOptions& limits = {}) {
  const std::string environment = start.environment()->spec().name;
  return solver_named(name, environment).run(start, limits, SolverSettings(environment));
}

/// One random walk.
Result walk(const Task& start, uint64_t seed) {
  return run(start, "random", {.budget = 1, .seed = seed});
}

TEST(PlainTasks, AreThereForEveryStartStateAlone) {
  const auto tasks = knapsacks();
  ASSERT_EQ(tasks->tasks().size(), 3u);
  EXPECT_THAT(tasks->warnings(), ::testing::ElementsAre("a warning"));
  for (size_t i = 0; i < 3; ++i) {
    const auto environment = tasks->tasks()[i]->environment();
    ASSERT_EQ(environment->spec().start_states(), 1);
    EXPECT_EQ(environment->spec().starts.front(), tasks->spec().starts[i]);
  }
}

TEST(PlainTasks, AreComparedWithSearches) {
  const auto tasks = knapsacks();
  const std::vector<std::string> names = tasks->usual_solvers();
  EXPECT_THAT(names, ::testing::ElementsAre("random", "greedy", "beam", "mcts"));
  const auto chosen = chosen_solvers(names, "knapsack");
  for (const auto& task : tasks->tasks())
    for (const ChosenSolver& one : chosen) EXPECT_EQ(one.solver->unsuited(*task), "");
  EXPECT_TRUE(chosen[0].solver->draws());
  EXPECT_EQ(chosen[0].budget, 0);
  EXPECT_EQ(chosen[0].solver->budget_unit(), "walks") << "it goes on as long as it may";
  EXPECT_FALSE(chosen[1].solver->draws());
  EXPECT_EQ(chosen[1].solver->budget_unit(), "");
}

TEST(PlainTasks, TheirProblemStandsAtTheStart) {
  const auto tasks = toys();
  for (size_t i = 0; i < 4; ++i) {
    const auto environment = tasks->tasks()[i]->environment();
    environment->reset(0);
    const auto problem = tasks->tasks()[i]->problem();
    EXPECT_EQ(environment_problem(*problem).observation(), environment->observe());
    EXPECT_EQ(problem->cost(), environment->info().best);
  }
}

TEST(PlainTasks, GreedyTriesChoicesOnForksWhereNothingLooksAhead) {
  const KnapsackEnvironment knapsack({.items = 6, .start_states = 3});
  const auto tasks = knapsacks();
  for (int start = 0; start < 3; ++start) {
    const auto& one = *tasks->tasks()[static_cast<size_t>(start)];
    const auto environment = one.environment();
    environment->reset(0);
    const double first = environment->info().best;
    const Result greedy = run(one, "greedy");
    EXPECT_GE(greedy.best, first);
    EXPECT_LE(greedy.best, knapsack.optimal_value(start));
    EXPECT_EQ(greedy.metrics, (std::vector<double>{greedy.best, 0}));
    const SearchOutcome searched = solve(one.problem(), {}, search::Greedy());
    EXPECT_GE(searched.steps, static_cast<int64_t>(greedy.trace.size()) - 1);
    EXPECT_EQ(greedy.candidates + searched.steps, greedy.work.steps)
        << "a step for each choice that is tried, and those that are taken";
    EXPECT_EQ(greedy.trace.back().best, greedy.best);
  }
}

TEST(PlainTasks, GreedyTakesNoStepToLookAhead) {
  const auto tasks = toys();
  const ToyEnvironment toy({.blocks = 3, .start_states = 4});
  for (size_t start = 0; start < 4; ++start) {
    const Result greedy = run(*tasks->tasks()[start], "greedy");
    EXPECT_GT(greedy.candidates, greedy.work.steps);
    EXPECT_GE(greedy.best, toy.optimal_cost(static_cast<int>(start)));
  }
}

TEST(PlainTasks, RandomCountsFeasibleStatesAlone) {
  const auto tasks = knapsacks();
  const KnapsackEnvironment knapsack({.items = 6, .start_states = 3});
  for (int start = 0; start < 3; ++start)
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Result random = walk(*tasks->tasks()[static_cast<size_t>(start)], seed);
      EXPECT_EQ(random.metrics.at(1), 0) << "overloaded";
      EXPECT_LE(random.best, knapsack.optimal_value(start));
      EXPECT_GT(random.work.steps, 0);
    }
}

TEST(PlainTasks, RandomIsItsSeeds) {
  const auto tasks = toys();
  std::set<double> found;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Result one = walk(*tasks->tasks()[0], seed);
    EXPECT_EQ(one.best, walk(*tasks->tasks()[0], seed).best);
    found.insert(static_cast<double>(one.work.steps) + one.best / 1000);
  }
  EXPECT_GT(found.size(), 1u) << "seeds draw differently";
}

TEST(PlainTasks, SearchesFindTheOptimum) {
  const auto tasks = knapsacks();
  const KnapsackEnvironment knapsack({.items = 6, .start_states = 3});
  SolverSettings settings("knapsack");
  settings.of<search::Taso>("taso").alpha = 2;
  for (const char* name : {"beam", "mcts", "exhaustive", "taso"})
    for (int start = 0; start < 3; ++start) {
      const Result found = solver_named(name, "knapsack")
                               .run(*tasks->tasks()[static_cast<size_t>(start)],
                                    {.budget = 500, .seed = 1}, settings);
      EXPECT_EQ(found.best, knapsack.optimal_value(start)) << name;
      EXPECT_EQ(found.metrics, (std::vector<double>{found.best, 0})) << name;
      EXPECT_EQ(found.trace.back().best, found.best) << name;
      EXPECT_GT(found.work.steps, found.candidates) << name << " tries each on a copy";
    }
}

TEST(PlainTasks, OfAnEnvironmentThatDiffersEachTimeAreNoProblems) {
  auto toy = std::make_unique<ToyEnvironment>(ToyConfig{.blocks = 3});
  EnvSpec spec = toy->spec();
  spec.deterministic = false;
  const auto tasks =
      plain_tasks(std::make_unique<testing::RenamedEnvironment>(std::move(toy), spec), {});
  const Task& one = *tasks->tasks().front();
  EXPECT_FALSE(one.has_problem());
  const std::string why = "needs an environment whose steps always end alike";
  for (const Solver* solver : solvers_for("toy")) {
    EXPECT_EQ(solver->unsuited(one), why) << solver->name();
    try {
      run(one, solver->name());
      ADD_FAILURE() << "no error";
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(), solver->name() + " " + why);
    }
  }
}

}  // namespace
}  // namespace reverie
