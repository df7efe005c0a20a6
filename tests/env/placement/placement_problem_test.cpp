#include "env/placement/search/placement_problem.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/env/placement/placements.h"
#include "tests/support/problem_conformance.h"

namespace reverie {
namespace {

std::shared_ptr<Evaluator> judge(const CostGraph& graph, const Topology& topology) {
  return std::make_shared<Evaluator>(graph, topology, PlacementObjective::kMakespan,
                                     EvaluationBudget{});
}

PlacementProblem problem(const CostGraph& graph, const Topology& topology, const Placement& start) {
  return {judge(graph, topology), start};
}

TEST(PlacementProblem, IsAProblem) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(10)), rng);
    Topology topology = testing::random_topology(rng);
    if (topology.size() == 1) continue;
    const Placement start = testing::random_placement(graph, topology, rng);
    testing::check_problem(problem(graph, topology, start), 20, seed);
  }
}

TEST(PlacementProblem, TooMuchMemoryCostsMoreThanAnyPlacementThatFits) {
  std::vector<CostNode> nodes(2, {.name = "n", .op = "task", .persistent_bytes = 10});
  const CostGraph graph("memory", {"d"}, nodes, {{5}, {5}},
                        {{.producer = 0, .transfer = {90}, .readers = {1}}});
  Topology topology = ideal_devices(2, "d");
  topology.devices[0].memory_bytes = topology.devices[1].memory_bytes = 15;
  const PlacementProblem together = problem(graph, topology, {{0, 0}, {}});
  const PlacementProblem apart = problem(graph, topology, {{0, 1}, {}});
  EXPECT_FALSE(together.feasible());
  EXPECT_TRUE(apart.feasible());
  EXPECT_LT(together.outcome().makespan, apart.outcome().makespan);
  EXPECT_GT(together.cost(), apart.cost());
}

TEST(PlacementProblem, AStartOfAnotherGraphIsRefused) {
  const CostGraph graph = testing::graph_of({1, 1, 1}, {});
  const Topology topology = ideal_devices(2, "d");
  EXPECT_THROW(problem(graph, topology, {{0, 1}, {}}), InputError);
  EXPECT_THROW(problem(graph, topology, {{0, 1, 0}, {1}}), InputError);
}

TEST(PlacementProblem, GroupsMoveAsOne) {
  std::vector<CostNode> nodes(3, {.name = "n", .op = "task"});
  nodes[0].group = nodes[2].group = 7;
  const CostGraph graph("groups", {"d"}, nodes, {{1}, {1}, {1}}, {});
  const Topology topology = ideal_devices(3, "d");
  PlacementProblem state = problem(graph, topology, {{1, 0, 2}, {}});
  EXPECT_EQ(state.placement().device, (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(state.moves(0), 4);
  EXPECT_TRUE(state.apply({0, 1}));
  EXPECT_EQ(state.placement().device, (std::vector<int>{2, 0, 2}));
}

TEST(PlacementProblem, ItsEvaluatorJudgesEachStateAndEachMoveThatIsLookedAt) {
  const CostGraph graph = testing::graph_of({3, 4}, {});
  const Topology topology = ideal_devices(2, "d");
  const auto evaluator = judge(graph, topology);
  PlacementProblem state(evaluator, {{0, 0}, {}});
  EXPECT_EQ(evaluator->evaluations(), 1);
  EXPECT_EQ(evaluator->best_outcome().makespan.count, 7);
  const std::unique_ptr<Problem> copy = state.copy();
  EXPECT_EQ(copy->change({0, 1}), -3);
  EXPECT_EQ(evaluator->evaluations(), 2) << "copies share it";
  EXPECT_EQ(evaluator->best().device, (std::vector<int>{0, 1})) << "though nobody went there";
  EXPECT_EQ(copy->cost(), 7);
  EXPECT_TRUE(state.apply({0, 0}));
  EXPECT_EQ(evaluator->evaluations(), 3);
}

}  // namespace
}  // namespace reverie
