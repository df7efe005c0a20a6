#include <gtest/gtest.h>

#include "env/kind.h"
#include "env/rewrite/search/rewrite_problem.h"
#include "env/solver.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using testing::unary_state;

SearchResult rewritten(const RewriteState& start, const RewriteSearchOptions& options,
                       const SolverSettings& settings = SolverSettings("rewrite")) {
  return method_named("first_gain", settings)(start, options);
}

TEST(SearchRecipe, TakesWhatGainsUntilNothingDoes) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt"}, {"Sigmoid"}, {"Exp"}});
  const RewriteSearchOptions options;
  const SearchResult result = rewritten(start, options);
  EXPECT_EQ(result.rewrites.size(), 3u);
  EXPECT_EQ(result.best_cost, search_rewrites(start, options, search::Greedy()).best_cost);
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
  EXPECT_EQ(replay(start, result.rewrites).cost(), result.best_cost);
}

TEST(SearchRecipe, StopsAtTheBudget) {
  RewriteSearchOptions options;
  options.budget = 1;
  const SearchResult result = rewritten(unary_state({{"Sqrt", "Sqrt"}}), options);
  EXPECT_EQ(result.rewrites.size(), 1u);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(SearchRecipe, KeepsTheBoundOfWeights) {
  RewriteSearchOptions options;
  options.max_weight_growth = 1;
  const SearchResult result = rewritten(unary_state({{"Relu"}}), options);
  EXPECT_TRUE(result.rewrites.empty());
}

TEST(SearchRecipe, ReadsItsOption) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt"}, {"Sigmoid"}});  // gains of 2, 2, 8 ns
  SolverSettings settings("rewrite");
  ConfigFields(settings).set("first_gain.least=2000");
  EXPECT_EQ(rewritten(start, {}, settings).rewrites.size(), 1u);
}

TEST(SearchRecipe, PacksKnapsacks) {
  EnvironmentConfig config;
  config.kind = "knapsack";
  const auto tasks = environment_kind(config.kind).tasks(config, {}, {});
  const SolverSettings settings(config.kind);
  const Solver& search = solver_named("first_gain", config.kind);
  const Solver& best = solver_named("exhaustive", config.kind);
  for (const auto& task : tasks->tasks()) {
    const Result none = search.run(*task, {.budget = 0}, settings);
    const Result packed = search.run(*task, {}, settings);
    EXPECT_GT(packed.best, none.best);
    EXPECT_LE(packed.best, best.run(*task, {}, settings).best);
    EXPECT_EQ(packed.metrics.front(), packed.best);
  }
}

}  // namespace
}  // namespace reverie
