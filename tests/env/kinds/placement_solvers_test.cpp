#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "env/kind.h"
#include "env/placement/graph/generator.h"
#include "env/placement/placement_solver.h"
#include "env/placement/placement_task.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/simulator/bounds.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

const std::vector<PlaceMethod>& methods() {
  static const std::vector<PlaceMethod> all = placement_methods(SolverSettings("placement"));
  return all;
}

Evaluator judge(const CostGraph& graph, const Topology& topology, int64_t evaluations) {
  return {graph, topology, PlacementObjective::kMakespan, {.evaluations = evaluations}};
}

double best_device(const CostGraph& graph, const Topology& topology) {
  Evaluator evaluator = judge(graph, topology, 0);
  place_method(place_methods(), "one_device").run(evaluator, 1);
  return evaluator.cost(evaluator.best_outcome());
}

TEST(PlacementMethods, AreThoseOfPlacementAndSearches) {
  std::vector<std::string> names;
  for (const PlaceMethod& method : methods()) names.push_back(method.name);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const char* search : {"greedy", "beam", "mcts", "taso", "taso_published", "exhaustive"})
    EXPECT_THAT(names, ::testing::Contains(search));
  for (const PlaceMethod& own : place_methods()) {
    EXPECT_EQ(place_method(methods(), own.name).what, own.what)
        << "it stands before a search of its name";
  }
}

class PlacementSearches : public ::testing::TestWithParam<const char*> {
 protected:
  static const PlaceMethod& method() { return place_method(methods(), GetParam()); }
};

TEST_P(PlacementSearches, EndWithTheirEvaluationsNoWorseThanTheBestDevice) {
  const CostGraph graph = generated_graph("generate:layers:100:1");
  const Topology topology = read_topology("2xv100-nvlink");
  for (const int64_t evaluations : {1, 50, 2000}) {
    Evaluator evaluator = judge(graph, topology, evaluations);
    method().run(evaluator, 1);
    EXPECT_LE(evaluator.evaluations(), evaluations + 20);
    EXPECT_LE(evaluator.cost(evaluator.best_outcome()), best_device(graph, topology));
    EXPECT_GE(evaluator.best_outcome().makespan, lower_bound(graph, topology));
  }
}

TEST_P(PlacementSearches, FindMoreThanOneDeviceAndRepeatThemselves) {
  Rng rng(1);
  const CostGraph graph = testing::random_cost_graph(12, rng);
  const Topology topology = ideal_devices(3, "a");
  std::vector<Placement> found;
  for (int run = 0; run < 2; ++run) {
    Evaluator evaluator = judge(graph, topology, 3000);
    method().run(evaluator, 7);
    EXPECT_LT(evaluator.cost(evaluator.best_outcome()), best_device(graph, topology));
    found.push_back(evaluator.best());
  }
  EXPECT_EQ(found[0].device, found[1].device);
  EXPECT_EQ(found[0].priority, found[1].priority);
}

TEST_P(PlacementSearches, SolveTasksByBudgetsOfTheirOwn) {
  EnvironmentConfig config;
  config.kind = "placement";
  config.inputs = {"generate:layers:100:1"};
  const auto tasks = environment_kind("placement").tasks(config, {}, {});
  const Task& one = *tasks->tasks().front();
  const Solver& solver = solver_named(GetParam(), "placement");
  ASSERT_EQ(solver.unsuited(one), "");
  SolverSettings settings("placement");
  settings.of<search::Exhaustive>("exhaustive").states = 4;
  settings.of<search::Mcts>("mcts").random_steps = 1;
  const Result result = solver.run(one, {.budget = 2, .seed = 1}, settings);
  const auto& placement = dynamic_cast<const PlacementSolution&>(*result.solution).placement;
  const CostGraph& graph = dynamic_cast<const PlacementTask&>(one).graph();
  const Topology topology = read_topology(config.of<PlacementConfig>().devices);
  EXPECT_DOUBLE_EQ(
      result.best,
      Simulator(graph, topology).run(placement, Dispatch::kInOrder).makespan.milliseconds());
  Evaluator devices = judge(graph, topology, 0);
  place_method(place_methods(), "one_device").run(devices, 1);
  EXPECT_LT(result.best, devices.best_outcome().makespan.milliseconds());
  EXPECT_GT(result.candidates, devices.evaluations());
  EXPECT_EQ(result.work.cost_lookups, result.candidates);
}

INSTANTIATE_TEST_SUITE_P(All, PlacementSearches,
                         ::testing::Values("greedy", "beam", "mcts", "taso", "taso_published",
                                           "exhaustive"),
                         [](const auto& search) { return std::string(search.param); });

}  // namespace
}  // namespace reverie
