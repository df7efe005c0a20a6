#include "env/rewrite/search/egraph/extraction.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/random_extraction.h"

namespace reverie {
namespace {

using testing::least_cost;
using testing::random_extraction;

const OutOfTime kNever = [] { return false; };

ExtractionProblem problem_of(int classes, std::vector<ExtractionProblem::Node> nodes,
                             std::vector<int> roots) {
  ExtractionProblem problem{std::move(nodes), {}, std::move(roots), {}};
  problem.members.resize(static_cast<size_t>(classes));
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    for (const int output : problem.nodes[i].outputs)
      problem.members[static_cast<size_t>(output)].push_back(static_cast<int>(i));
  return problem;
}

/// Two products of one input, and the two made together and taken apart.
ExtractionProblem merged_products() {
  return problem_of(4,
                    {{0, {}, {0}, {}},       // the input
                     {10, {0}, {1}, {}},     // one product
                     {10, {0}, {2}, {}},     // the other
                     {12, {0}, {3}, {}},     // both
                     {2, {3}, {1, 2}, {}}},  // taken apart
                    {1, 2});
}

TEST(Follower, CountsWhatIsSharedOnce) {
  const ExtractionProblem problem = merged_products();
  Follower follower(problem);
  EXPECT_EQ(follower.cost({0, 1, 2, 3}), 20);
  EXPECT_EQ(follower.cost({0, 4, 4, 3}), 14);
  EXPECT_EQ(follower.nodes(), (std::vector<int>{0, 3, 4}));
  EXPECT_EQ(follower.cost({0, 1, 4, 3}), 24);
}

TEST(Follower, RefusesCyclesAndGaps) {
  const ExtractionProblem problem =
      problem_of(2, {{1, {1}, {0}, {}}, {1, {0}, {1}, {}}, {9, {}, {1}, {}}}, {0});
  Follower follower(problem);
  EXPECT_EQ(follower.cost({0, 1}), std::nullopt);
  EXPECT_EQ(follower.cost({0, -1}), std::nullopt);
  EXPECT_EQ(follower.cost({0, 2}), 10);
}

TEST(Follower, RefusesTooManyWeights) {
  ExtractionProblem problem =
      problem_of(3, {{1, {}, {0}, {0}}, {1, {}, {1}, {0, 1}}, {1, {0, 1}, {2}, {}}}, {2});
  problem.weight_bytes = {8, 4};
  problem.weight_limit = 12;
  EXPECT_EQ(Follower(problem).cost({0, 1, 2}), 3);
  problem.weight_limit = 11;
  EXPECT_EQ(Follower(problem).cost({0, 1, 2}), std::nullopt);
}

TEST(BottomUp, TakesTheLeastTreeAndSoMissesWhatIsShared) {
  const ExtractionProblem problem = merged_products();
  EXPECT_EQ(Follower(problem).cost(select_bottom_up(problem)), 20);
}

TEST(BottomUp, NeverClosesACycleOfFreeNodes) {
  const ExtractionProblem problem =
      problem_of(2, {{0, {1}, {0}, {}}, {0, {0}, {1}, {}}, {9, {}, {1}, {}}}, {0});
  EXPECT_EQ(Follower(problem).cost(select_bottom_up(problem)), 9);
}

TEST(Descend, FindsWhatIsShared) {
  const ExtractionProblem problem = merged_products();
  const Selection selection = select_by_descent(problem, {0, 1, 2, 3}, kNever);
  EXPECT_EQ(Follower(problem).cost(selection), 14);
}

/// What is taken apart has to be given another shape before it is what was wanted.
TEST(Descend, FindsWhatIsSharedThroughFreeNodes) {
  const ExtractionProblem problem = problem_of(6,
                                               {{0, {}, {0}, {}},
                                                {10, {0}, {1}, {}},
                                                {10, {0}, {2}, {}},
                                                {12, {0}, {3}, {}},
                                                {2, {3}, {4, 5}, {}},
                                                {0, {4}, {1}, {}},
                                                {0, {5}, {2}, {}}},
                                               {1, 2});
  const Selection selection = select_by_descent(problem, select_bottom_up(problem), kNever);
  EXPECT_EQ(Follower(problem).cost(selection), 14);
}

TEST(Descend, EndsWhenTheTimeIsOver) {
  const ExtractionProblem problem = merged_products();
  const Selection selection = select_by_descent(problem, {0, 1, 2, 3}, [] { return true; });
  EXPECT_EQ(Follower(problem).cost(selection), 20);
}

TEST(Extraction, GreedyIsPossibleAndNeverBelowTheOptimum) {
  int optimal = 0;
  int solvable = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const ExtractionProblem problem = random_extraction(seed);
    const auto least = least_cost(problem);
    if (!least) continue;
    ++solvable;
    Follower follower(problem);
    const Selection start = select_bottom_up(problem);
    const auto greedy = follower.cost(start);
    ASSERT_TRUE(greedy.has_value()) << seed;
    const auto better = follower.cost(select_by_descent(problem, start, kNever));
    ASSERT_TRUE(better.has_value()) << seed;
    EXPECT_GE(*greedy, *better) << seed;
    EXPECT_GE(*better, *least) << seed;
    optimal += *better == *least;
  }
  EXPECT_GT(solvable, 200);
  EXPECT_GT(optimal, solvable / 2);
}

}  // namespace
}  // namespace reverie
