#include "env/placement/simulator/fusing_simulator.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "core/base/random.h"
#include "env/placement/graph/generator.h"
#include "env/placement/placement_solver.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/list_search.h"
#include "env/placement/search/place.h"
#include "env/placement/simulator/evaluator.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const Topology& devices() {
  static const Topology topology = read_topology("2xv100-nvlink");
  return topology;
}

CostGraph graph_of(const std::string& family) {
  return generate_graph({.family = family, .nodes = 150, .seed = 2});
}

Placement drawn(const CostGraph& graph, Rng& rng) {
  const PlacementEntities entities(graph);
  std::vector<int> of_entities;
  for (int entity = 0; entity < entities.size(); ++entity)
    of_entities.push_back(rng.below(5) == 0 ? 1 : 0);
  Placement placement{entities.spread(of_entities), {}};
  for (int node = 0; node < graph.size(); ++node)
    placement.priority.push_back(static_cast<int64_t>(rng.below(50)));
  std::vector<double> priority;
  for (int node = 0; node < graph.size(); ++node) priority.push_back(2 * rng.uniform() - 1);
  placement.kernel = greedy_fusion(Simulator(graph, devices()), placement, priority);
  return placement;
}

/// Every node is a kernel of its own.
std::vector<int> alone(const CostGraph& graph) {
  std::vector<int> kernel(static_cast<size_t>(graph.size()));
  std::iota(kernel.begin(), kernel.end(), 0);
  return kernel;
}

TEST(FusingSimulator, RunsTheFusedGraphWhereAPlacementSaysSo) {
  const CostGraph graph = graph_of("branches");
  FusingSimulator fusing(graph, devices());
  Simulator plain(graph, devices());
  Rng rng(1);
  for (int i = 0; i < 20; ++i) {
    Placement placement = drawn(graph, rng);
    const FusedGraph fused = fuse(graph, kernels_of(plain, placement));
    ASSERT_LT(fused.graph.size(), graph.size());
    Simulator of_fused(fused.graph, devices());
    for (const Dispatch dispatch : {Dispatch::kReady, Dispatch::kInOrder})
      EXPECT_EQ(fusing.run(placement, dispatch),
                of_fused.run(fused_placement(fused, placement, dispatch), dispatch));
    placement.kernel.clear();
    EXPECT_EQ(fusing.run(placement), plain.run(placement));
  }
}

TEST(FusingSimulator, FusedNodesRunAtOnce) {
  // 0 is fused with 1, and 2 is alone.
  const CostGraph graph(
      "three", {"d"}, {{"a", "op"}, {"b", "op"}, {"c", "op"}}, {{9}, {9}, {9}},
      {{.producer = 0, .bytes = 4, .readers = {1}}, {.producer = 1, .bytes = 4, .readers = {2}}},
      CostParts{.kinds = {{1e12, {1}}}, .arithmetic = {{0}, {0}, {0}}, .moved_bytes = {8, 8, 8}});
  const Topology one = ideal_devices(1, "d");
  FusingSimulator fusing(graph, one);
  Timeline timeline;
  const Outcome outcome = fusing.run({{0, 0, 0}, {}, {1, 1, 3}}, Dispatch::kReady, &timeline);
  EXPECT_EQ(outcome.makespan.count, 1 + 8 + 9);
  std::vector<int64_t> starts;
  for (const Timeline::Run& run : timeline.runs) starts.push_back(run.start.count);
  EXPECT_THAT(starts, ElementsAre(0, 0, 9));
  EXPECT_EQ(fusing.run({{0, 0, 0}, {}, {1, 2, 3}}).makespan.count, 27);
}

TEST(Evaluator, TheBestIsWhatWasJudgedAlsoWithFusion) {
  for (const char* family : {"layers", "branches", "recurrent", "random"}) {
    const CostGraph graph = graph_of(family);
    Evaluator evaluator(graph, devices(), PlacementObjective::kMakespan, {.evaluations = 60},
                        path_fusion(Simulator(graph, devices())));
    Rng rng(3);
    while (!evaluator.spent()) {
      Placement placement = drawn(graph, rng);
      if (rng.below(2) == 0) placement.kernel.clear();
      const auto dispatch = rng.below(2) == 0 ? Dispatch::kReady : Dispatch::kInOrder;
      evaluator.evaluate(placement, dispatch);
      // What is best does not depend on what the evaluator fuses by.
      const Placement& best = evaluator.best();
      EXPECT_EQ(FusingSimulator(graph, devices()).run(best, Dispatch::kInOrder),
                evaluator.best_outcome());
      const OrderedPlacement ordered(graph, devices().size(), best);
      EXPECT_EQ(FusingSimulator(graph, devices()).run(ordered.placement(), Dispatch::kInOrder),
                evaluator.best_outcome());
    }
  }
}

TEST(Evaluator, FusesWhatSaysNothingOfFusion) {
  const CostGraph graph = graph_of("layers");
  Simulator simulator(graph, devices());
  Placement placement = on_one_device(simulator, 0);
  const auto judged = [&](std::vector<double> fusion) {
    Evaluator evaluator(graph, devices(), PlacementObjective::kMakespan, {}, std::move(fusion));
    return evaluator.evaluate(placement);
  };
  const Outcome unfused = judged({}), fused = judged(path_fusion(simulator));
  EXPECT_LT(fused.makespan, unfused.makespan);
  placement.kernel = alone(graph);
  EXPECT_EQ(judged(path_fusion(simulator)), unfused);
  placement.kernel = greedy_fusion(simulator, placement, path_fusion(simulator));
  EXPECT_EQ(judged({}), fused);
}

TEST(Evaluator, FusesEachPlacementByItsDevices) {
  const CostGraph graph = graph_of("branches");
  const std::vector<double> fusion = path_fusion(Simulator(graph, devices()));
  Evaluator one(graph, devices(), PlacementObjective::kMakespan, {}, fusion);
  Rng rng(5);
  for (int i = 0; i < 5; ++i) {
    Placement placement = drawn(graph, rng);
    placement.kernel.clear();
    Evaluator fresh(graph, devices(), PlacementObjective::kMakespan, {}, fusion);
    EXPECT_EQ(one.evaluate(placement), fresh.evaluate(placement));
  }
}

TEST(OrderedPlacement, NodesLeaveAndJoinKernels) {
  const CostGraph graph = graph_of("layers");
  Simulator simulator(graph, devices());
  Placement start = on_one_device(simulator, 0);
  const OrderedPlacement unfused(graph, 2, start);
  EXPECT_EQ(unfused.moves(2) + unfused.moves(3), 0);
  start.kernel = alone(graph);
  OrderedPlacement ordered(graph, 2, start);
  ASSERT_GT(ordered.moves(2), graph.size() / 2);
  const auto [producer, reader] = ordered.edges()[5];
  const auto of = [&](int node) { return ordered.placement().kernel[static_cast<size_t>(node)]; };
  ASSERT_TRUE(ordered.apply({2, 5}));
  EXPECT_EQ(of(producer), of(reader));
  ASSERT_TRUE(ordered.apply({2, 5}));
  EXPECT_THAT(std::set(ordered.placement().kernel.begin(), ordered.placement().kernel.end()),
              SizeIs(graph.size()));
}

TEST(OrderedPlacement, KernelsMoveAsAWhole) {
  const CostGraph graph = graph_of("layers");
  Placement start = on_one_device(Simulator(graph, devices()), 0);
  start.kernel = alone(graph);
  start.kernel[7] = start.kernel[9] = 3;
  OrderedPlacement ordered(graph, 2, start);
  for (const int node : {2, 7, 9}) {
    EXPECT_FALSE(ordered.allows({3, node}));
    EXPECT_FALSE(ordered.apply({3, node}));
  }
  EXPECT_TRUE(ordered.allows({3, 3}));
  ASSERT_TRUE(ordered.apply({3, 3}));
  const PlacementEntities& entities = ordered.entities();
  const std::set<int> moved{entities.of(3), entities.of(7), entities.of(9)};
  for (int node = 0; node < graph.size(); ++node)
    EXPECT_EQ(ordered.placement().device[static_cast<size_t>(node)],
              moved.contains(entities.of(node)) ? 1 : 0);
}

TEST(ListKernels, PlacesTheKernelsOfTheBestAnew) {
  const CostGraph graph = graph_of("random");
  Simulator simulator(graph, devices());
  Evaluator evaluator(graph, devices(), PlacementObjective::kMakespan, {.evaluations = 100},
                      path_fusion(simulator));
  evaluator.evaluate(on_one_device(simulator, 0), Dispatch::kInOrder);
  const Placement before = evaluator.best();
  const Picoseconds makespan = evaluator.best_outcome().makespan;
  list_kernels(evaluator, 0.5, Rng(1));
  EXPECT_EQ(evaluator.evaluations(), 50);
  EXPECT_LT(evaluator.best_outcome().makespan, makespan);
  EXPECT_EQ(evaluator.best().kernel, before.kernel);
  EXPECT_NE(evaluator.best().device, before.device);
  list_kernels(evaluator, 0.5, Rng(2));
  EXPECT_EQ(evaluator.evaluations(), 50) << "no budget is left";
}

TEST(Place, WithFusionShowsTheFusedGraphOfTheBest) {
  for (const char* family : {"layers", "random"}) {
    const CostGraph graph = graph_of(family);
    const std::vector<PlaceMethod> methods{place_method(place_methods(), "heft"),
                                           place_method(place_methods(), "local")};
    const auto placed = [&](bool fuse) {
      return place(graph, devices(), methods, {.budget = {.evaluations = 200}, .fuse = fuse});
    };
    const PlaceResult fused = placed(true), unfused = placed(false);
    const Outcome& best = fused.methods[fused.winner].outcome;
    EXPECT_LT(best.makespan, unfused.methods[unfused.winner].outcome.makespan);
    EXPECT_GE(best.makespan, fused.bound);
    ASSERT_TRUE(fused.fused);
    EXPECT_LT(fused.placed(graph).size(), graph.size());
    EXPECT_EQ(Simulator(fused.placed(graph), devices()).run(fused.placement, Dispatch::kInOrder),
              best);
    EXPECT_EQ(std::ssize(fused.timeline.runs), fused.placed(graph).size());
    EXPECT_FALSE(unfused.fused);
    EXPECT_EQ(&unfused.placed(graph), &graph);
  }
}

TEST(FusedLowerBound, CountsArithmeticAndWeightsAlone) {
  // 1 reads 4 bytes of 0; 20 more are weights.
  const CostGraph graph(
      "two", {"d"}, {{"a", "op"}, {"b", "op"}}, {{30}, {90}},
      {{.producer = 0, .bytes = 4, .readers = {1}}},
      CostParts{.kinds = {{1e12, {1}}}, .arithmetic = {{7}, {5}}, .moved_bytes = {4, 24}});
  EXPECT_EQ(fused_lower_bound(graph, ideal_devices(1, "d")).count, 20);
  EXPECT_EQ(fused_lower_bound(graph, ideal_devices(3, "d")).count, 20);
}

}  // namespace
}  // namespace reverie
