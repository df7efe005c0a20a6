#include "env/rewrite/search/egraph/ilp.h"

#include <gtest/gtest.h>

#include "env/rewrite/search/egraph/cycles.h"
#include "tests/support/random_extraction.h"

namespace reverie {
namespace {

using testing::least_cost;
using testing::random_extraction;

const OutOfTime kNever = [] { return false; };
constexpr double kSeconds = 20;

/// The least cost of all selections that take only what is allowed.
std::optional<int64_t> least_allowed(const ExtractionProblem& problem,
                                     const std::vector<std::vector<uint8_t>>& allowed) {
  ExtractionProblem filtered = problem;
  for (auto& members : filtered.members) members.clear();
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    for (size_t k = 0; k < problem.nodes[i].outputs.size(); ++k)
      if (allowed[i][k])
        filtered.members[static_cast<size_t>(problem.nodes[i].outputs[k])].push_back(
            static_cast<int>(i));
  return least_cost(filtered);
}

/// Whether some choice of what is allowed is cyclic.
bool has_cycle(const ExtractionProblem& problem, const std::vector<std::vector<uint8_t>>& allowed) {
  std::vector<int> missing(problem.members.size(), 0);  // classes that lead to it
  std::vector<std::vector<int>> next(problem.members.size());
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    for (size_t k = 0; k < problem.nodes[i].outputs.size(); ++k)
      if (allowed[i][k])
        for (const int input : problem.nodes[i].inputs) {
          next[static_cast<size_t>(input)].push_back(problem.nodes[i].outputs[k]);
          ++missing[static_cast<size_t>(problem.nodes[i].outputs[k])];
        }
  std::vector<int> ready;
  for (int c = 0; c < problem.class_count(); ++c)
    if (missing[static_cast<size_t>(c)] == 0) ready.push_back(c);
  for (size_t i = 0; i < ready.size(); ++i)
    for (const int follower : next[static_cast<size_t>(ready[i])])
      if (--missing[static_cast<size_t>(follower)] == 0) ready.push_back(follower);
  return ready.size() != problem.members.size();
}

/// Solvable random problems with a selection that has a cost.
template <class Check>
void for_solvable(int wanted, const Check& check) {
  int solvable = 0;
  for (uint64_t seed = 1; solvable < wanted; ++seed) {
    ASSERT_LT(seed, 10000u) << "few problems have a solution";
    const ExtractionProblem problem = random_extraction(seed);
    const Selection start = select_bottom_up(problem);
    if (!Follower(problem).cost(start)) continue;
    ++solvable;
    SCOPED_TRACE(seed);
    check(problem, start);
  }
}

TEST(CycleFilter, LeavesNoCycleAndKeepsTheSelection) {
  int cyclic = 0;
  for_solvable(1000, [&](const ExtractionProblem& problem, const Selection& start) {
    std::vector<std::vector<uint8_t>> all;
    for (const auto& node : problem.nodes) all.emplace_back(node.outputs.size(), 1);
    cyclic += has_cycle(problem, all);
    const auto allowed = allow_without_cycles(problem, start);
    EXPECT_FALSE(has_cycle(problem, allowed));
    const auto least = least_allowed(problem, allowed);
    ASSERT_TRUE(least.has_value());
    EXPECT_LE(*least, *Follower(problem).cost(start));
  });
  EXPECT_GT(cyclic, 100);
}

TEST(CycleFilter, NothingCanBeAddedWithoutACycle) {
  for_solvable(300, [&](const ExtractionProblem& problem, const Selection& start) {
    auto allowed = allow_without_cycles(problem, start);
    for (size_t i = 0; i < allowed.size(); ++i) {
      const auto& inputs = problem.nodes[i].inputs;
      const bool computable = std::all_of(inputs.begin(), inputs.end(), [&](int input) {
        return select_bottom_up(problem)[static_cast<size_t>(input)] >= 0;
      });
      for (uint8_t& may : allowed[i]) {
        if (may || !computable) continue;
        may = 1;
        EXPECT_TRUE(has_cycle(problem, allowed));
        may = 0;
      }
    }
  });
}

TEST(Ilp, FindsTheOptimumOfWhatIsAllowed) {
  int better = 0;
  int whole = 0;
  for_solvable(200, [&](const ExtractionProblem& problem, const Selection& start) {
    const IlpResult result = extract_by_ilp(problem, start, kSeconds, kNever);
    EXPECT_EQ(result.status, "optimal");
    const auto cost = Follower(problem).cost(result.selection);
    ASSERT_TRUE(cost.has_value());
    EXPECT_EQ(*cost, *least_allowed(problem, allow_without_cycles(problem, start)));
    better += *cost < *Follower(problem).cost(start);
    whole += *cost == *least_cost(problem);
  });
  EXPECT_GT(better, 5);
  EXPECT_GT(whole, 180);  // few optima need what the filter left out
}

TEST(Ilp, LimitsTheWeights) {
  ExtractionProblem problem;
  problem.nodes = {{5, {}, {0}, {0}}, {1, {}, {0}, {0, 1}}};
  problem.members = {{0, 1}};
  problem.roots = {0};
  problem.weight_bytes = {8, 8};
  EXPECT_EQ(extract_by_ilp(problem, {0}, kSeconds, kNever).selection[0], 1);
  problem.weight_limit = 15;
  EXPECT_EQ(extract_by_ilp(problem, {0}, kSeconds, kNever).selection[0], 0);
}

TEST(Ilp, KeepsTheStartWhenThereIsNoTime) {
  const ExtractionProblem problem = random_extraction(3);
  const Selection start = select_bottom_up(problem);
  const IlpResult result = extract_by_ilp(problem, start, kSeconds, [] { return true; });
  EXPECT_LE(*Follower(problem).cost(result.selection), *Follower(problem).cost(start));
}

}  // namespace
}  // namespace reverie
