#include "env/placement/simulator/fusing_simulator.h"

#include <gmock/gmock.h>

#include "core/base/random.h"
#include "env/placement/graph/generator.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/place.h"
#include "env/placement/simulator/evaluator.h"
#include "env/placement/simulator/ordered_placement.h"
#include "tests/env/placement/expect_refused.h"

namespace reverie {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;

const Topology& devices() {
  static const Topology topology = read_topology("2xv100-nvlink");
  return topology;
}

CostGraph graph_of(const std::string& family) {
  return generate_graph({.family = family, .nodes = 150, .seed = 2});
}

Placement drawn(const CostGraph& graph, Rng& rng) {
  const PlacementEntities entities(graph);
  std::vector<int> devices;
  for (int entity = 0; entity < entities.size(); ++entity)
    devices.push_back(rng.below(5) == 0 ? 1 : 0);
  Placement placement{entities.spread(devices), {}};
  for (int node = 0; node < graph.size(); ++node) {
    placement.priority.push_back(static_cast<int64_t>(rng.below(50)));
    placement.fusion.push_back(2 * rng.uniform() - 1);
  }
  return placement;
}

TEST(FusingSimulator, RunsTheFusedGraphWhereAPlacementSaysSo) {
  const CostGraph graph = graph_of("branches");
  FusingSimulator fusing(graph, devices());
  Simulator plain(graph, devices());
  Rng rng(1);
  for (int i = 0; i < 20; ++i) {
    Placement placement = drawn(graph, rng);
    const FusedGraph fused = fuse(graph, greedy_fusion(plain, placement));
    ASSERT_LT(fused.graph.size(), graph.size());
    Simulator of_fused(fused.graph, devices());
    for (const Dispatch dispatch : {Dispatch::kReady, Dispatch::kInOrder})
      EXPECT_EQ(fusing.run(placement, dispatch),
                of_fused.run(fused_placement(fused, placement, dispatch), dispatch));
    placement.fusion.clear();
    EXPECT_EQ(fusing.run(placement), plain.run(placement));
  }
}

TEST(FusingSimulator, NothingIsFusedBelowZero) {
  const CostGraph graph = graph_of("layers");
  FusingSimulator fusing(graph, devices());
  Rng rng(2);
  Placement placement = drawn(graph, rng);
  placement.fusion.assign(placement.device.size(), -1);
  EXPECT_EQ(fusing.run(placement), Simulator(graph, devices()).run(placement));
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
  const Outcome outcome = fusing.run({{0, 0, 0}, {}, {1, -1, -1}}, Dispatch::kReady, &timeline);
  EXPECT_EQ(outcome.makespan.count, 1 + 8 + 9);
  std::vector<int64_t> starts;
  for (const Timeline::Run& run : timeline.runs) starts.push_back(run.start.count);
  EXPECT_THAT(starts, ElementsAre(0, 0, 9));
  EXPECT_EQ(fusing.run({{0, 0, 0}, {}, {-1, -1, -1}}).makespan.count, 27);
}

TEST(FusingSimulator, IsRefusedWhereFusionIsNotOfEachNode) {
  const CostGraph graph = graph_of("layers");
  FusingSimulator fusing(graph, devices());
  Placement placement = on_one_device(fusing.plain(), 0);
  placement.fusion = {1, 2};
  testing::expect_refused([&] { fusing.run(placement); },
                          "2 priorities of fusion do not fit a graph of");
}

TEST(Evaluator, TheBestIsWhatWasJudgedAlsoWithFusion) {
  for (const char* family : {"layers", "branches", "recurrent", "random"}) {
    const CostGraph graph = graph_of(family);
    Evaluator evaluator(graph, devices(), PlacementObjective::kMakespan, {.evaluations = 60},
                        path_fusion(Simulator(graph, devices())));
    Rng rng(3);
    while (!evaluator.spent()) {
      Placement placement = drawn(graph, rng);
      if (rng.below(2) == 0) placement.fusion.clear();
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
  const Outcome alone = judged({}), fused = judged(path_fusion(simulator));
  EXPECT_LT(fused.makespan, alone.makespan);
  placement.fusion.assign(placement.device.size(), -1);
  EXPECT_EQ(judged(path_fusion(simulator)), alone);
  placement.fusion = path_fusion(simulator);
  EXPECT_EQ(judged({}), fused);
}

TEST(OrderedPlacement, AMoveSaysOfANodeWhetherItIsFusedFirst) {
  const CostGraph graph = graph_of("layers");
  const Simulator simulator(graph, devices());
  Placement start = on_one_device(simulator, 0);
  OrderedPlacement unfused(graph, 2, start);
  EXPECT_EQ(unfused.moves(2), 0);
  start.fusion = path_fusion(simulator);
  OrderedPlacement ordered(graph, 2, start);
  ASSERT_EQ(ordered.moves(2), graph.size());
  for (int node = 0; node < graph.size(); ++node) ASSERT_TRUE(ordered.apply({2, node}));
  EXPECT_THAT(ordered.placement().fusion, Each(Lt(0)));
  for (int node = 0; node < graph.size(); ++node) ASSERT_TRUE(ordered.apply({2, node}));
  EXPECT_EQ(ordered.placement().fusion, start.fusion);
}

TEST(Place, WithFusionShowsTheFusedGraphOfTheBest) {
  for (const char* family : {"layers", "random"}) {
    const CostGraph graph = graph_of(family);
    const std::vector<PlaceMethod> methods{place_method(place_methods(), "heft"),
                                           place_method(place_methods(), "local")};
    const auto placed = [&](bool fuse) {
      return place(graph, devices(), methods, {.evaluations = 200}, 1,
                   PlacementObjective::kMakespan, fuse);
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
