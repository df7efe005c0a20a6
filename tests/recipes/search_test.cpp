#include <gtest/gtest.h>

#include "core/search/rewrite_problem.h"
#include "tests/recipes/first_gain.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using testing::unary_state;

TEST(SearchRecipe, TakesWhatGainsUntilNothingDoes) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt"}, {"Sigmoid"}, {"Exp"}});
  const SearchOptions options;
  const SearchResult result = search_rewrites(start, options, run_first_gain);
  EXPECT_EQ(result.rewrites.size(), 3u);
  EXPECT_EQ(result.best_cost, greedy_search(start, options).best_cost);
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
  EXPECT_EQ(replay(start, result.rewrites).cost(), result.best_cost);
}

TEST(SearchRecipe, StopsAtTheBudget) {
  SearchOptions options;
  options.budget = 1;
  const SearchResult result =
      search_rewrites(unary_state({{"Sqrt", "Sqrt"}}), options, run_first_gain);
  EXPECT_EQ(result.rewrites.size(), 1u);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(SearchRecipe, KeepsTheBoundOfWeights) {
  SearchOptions options;
  options.max_weight_growth = 1;
  const SearchResult result = search_rewrites(unary_state({{"Relu"}}), options, run_first_gain);
  EXPECT_TRUE(result.rewrites.empty());
}

}  // namespace
}  // namespace reverie
