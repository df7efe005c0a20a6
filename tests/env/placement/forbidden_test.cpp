#include <gmock/gmock.h>

#include <algorithm>

#include "env/placement/placement_solver.h"
#include "env/placement/search/place.h"
#include "env/placement/simulator/bounds.h"
#include "env/placement/simulator/grouping.h"
#include "tests/env/placement/expect_refused.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using testing::expect_refused;

constexpr Picoseconds kCannotRun = CostGraph::kCannotRun;

/// Kinds "a" and "b"; a third of the nodes can run on one of them alone, where they would be
/// slower. No two of those that differ are in one group.
CostGraph half_forbidden(Rng& rng) {
  const CostGraph graph = testing::random_cost_graph(4 + static_cast<int>(rng.below(9)), rng);
  std::vector<Picoseconds> costs;
  for (int node = 0; node < graph.size(); ++node) {
    costs.insert(costs.end(), {graph.cost(node, 0), graph.cost(node, 1)});
    if (rng.below(3) > 0) continue;
    const bool second = rng.below(2) == 0;
    costs[costs.size() - (second ? 1 : 2)] = kCannotRun;
  }
  return {graph.name(), graph.kinds(), graph.nodes(), costs, graph.tensors()};
}

Topology one_of_each() {
  Topology topology = ideal_devices(3, "a");
  topology.devices[1].kind = "b";
  return topology;
}

TEST(Forbidden, EveryMethodStaysAway) {
  const Topology topology = one_of_each();
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = half_forbidden(rng);
    for (const char* name : {"local", "etf", "heft", "annealing", "exact", "brkga"}) {
      for (const auto objective :
           {PlacementObjective::kMakespan, PlacementObjective::kPeakMemory}) {
        Evaluator evaluator(graph, topology, objective, {.evaluations = 500});
        place_method(place_methods(), name).run(evaluator, seed);
        EXPECT_EQ(evaluator.best_outcome().misplaced, 0) << name;
      }
    }
  }
}

TEST(Forbidden, NodesElsewhereAreCounted) {
  const CostGraph graph("two", {"a", "b"}, {{"x", "op"}, {"y", "op"}}, {{3}, kCannotRun, {4}, {5}},
                        {});
  const Topology topology = one_of_each();
  Simulator simulator(graph, topology);
  EXPECT_EQ(simulator.run({{1, 1}, {}}).misplaced, 1);
  EXPECT_FALSE(simulator.run({{1, 1}, {}}).feasible());
  EXPECT_TRUE(simulator.run({{0, 1}, {}}).feasible());
}

TEST(Forbidden, WhatNoDeviceCanRunIsRefused) {
  const CostGraph graph("two", {"a", "b"}, {{"x", "op"}, {"y", "op"}}, {{3}, kCannotRun, {4}, {5}},
                        {});
  const Topology only = ideal_devices(2, "b");
  expect_refused([&] { Simulator(graph, only); }, "none of the devices can run node 'x'");
  std::vector<CostNode> together = {{.name = "x", .op = "op", .group = 0},
                                    {.name = "y", .op = "op", .group = 0}};
  const CostGraph apart("two", {"a", "b"}, together, {{3}, kCannotRun, kCannotRun, {5}}, {});
  const Topology topology = one_of_each();
  expect_refused(
      [&] { place(apart, topology, place_methods().first(1), {.budget = {.evaluations = 1}}); },
      "none of the devices can run all of the colocation group of node 'y'");
}

TEST(Forbidden, GroupsOfOneEachAreNotJoined) {
  std::vector<CostNode> nodes(4, {.name = "n", .op = "op"});
  const std::vector<Picoseconds> costs = {{1}, kCannotRun, {1}, {1}, {1}, {1}, kCannotRun, {1}};
  std::vector<CostTensor> chain;
  for (int i = 0; i < 3; ++i) chain.push_back({.producer = i, .bytes = 1, .readers = {i + 1}});
  const CostGraph graph = grouped(CostGraph("chain", {"a", "b"}, nodes, costs, chain), 1);
  EXPECT_NE(graph.nodes()[0].group, graph.nodes()[3].group);
  Simulator(graph, one_of_each()).require_groups();
}

TEST(Forbidden, FusedKernelsStayAwayToo) {
  const CostParts parts{.kinds = {{1e12, {1}}, {1e12, {1}}},
                        .arithmetic = {{0}, {0}, {0}, {8}, {0}, {0}},
                        .moved_bytes = {4, 4, 4}};
  const CostGraph graph(
      "three", {"a", "b"}, {{"x", "op"}, {"y", "op"}, {"z", "op"}},
      {{5}, kCannotRun, {9}, {9}, {5}, {5}},
      {{.producer = 0, .bytes = 4, .readers = {1}}, {.producer = 1, .bytes = 4, .readers = {2}}},
      parts);
  const PlaceResult result =
      place(graph, one_of_each(), usual_methods(graph, PlacementObjective::kMakespan),
            {.budget = {.evaluations = 50}, .fuse = true});
  EXPECT_EQ(result.methods[result.winner].outcome.misplaced, 0);
  EXPECT_EQ(why_infeasible(result), "");
  const Json json = placement_json(result.placed(graph), one_of_each(), result);
  size_t held = 0;
  for (const Json& node : json.at("nodes").array()) held += node.at("holds").array().size();
  EXPECT_EQ(held, 3u) << "every node is told once";
}

TEST(MemoryBound, NoPlacementIsBelow) {
  int tight = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(1 + static_cast<int>(rng.below(8)), rng);
    const Topology topology = testing::random_topology(rng);
    const int64_t bound = memory_bound(graph, topology, /*fused=*/false);
    int64_t least = INT64_MAX;
    for (int i = 0; i < 20; ++i)
      least = std::min(least, Simulator(graph, topology)
                                  .run(testing::random_placement(graph, topology, rng))
                                  .peak_bytes);
    EXPECT_GE(least, bound);
    EXPECT_GE(bound, memory_bound(graph, topology, /*fused=*/true));
    tight += least == bound ? 1 : 0;
  }
  EXPECT_GT(tight, 0);
}

TEST(MemoryBound, IsShownWhereMemoryIsTheObjective) {
  const std::vector<CostNode> nodes(4, {.name = "n", .op = "op", .persistent_bytes = 10});
  const CostGraph graph("four", {"d"}, nodes, std::vector(4, Picoseconds{1}), {});
  const Topology topology = ideal_devices(2, "d");
  const PlaceResult result =
      place(graph, topology, usual_methods(graph, PlacementObjective::kPeakMemory),
            {.budget = {.evaluations = 100}, .objective = PlacementObjective::kPeakMemory});
  EXPECT_TRUE(std::ranges::count(result.methods, "brkga", &PlacedBy::method));
  EXPECT_EQ(result.bytes_bound, 20);
  EXPECT_EQ(result.methods[result.winner].outcome.peak_bytes, 20);
}

}  // namespace
}  // namespace reverie
