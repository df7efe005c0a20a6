#include "env/placement/search/heuristics.h"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "env/placement/simulator/bounds.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// The example of the paper on HEFT: ten nodes on three devices of different kinds.
CostGraph published_example() {
  const std::vector<std::vector<int64_t>> costs = {
      {14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17},  {12, 13, 10},
      {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};
  const std::vector<std::tuple<int, int, int64_t>> edges = {
      {1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
      {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
      {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> times;
  std::vector<CostTensor> tensors;
  for (const auto& row : costs) {
    nodes.push_back({.name = fmt::format("n{}", nodes.size() + 1), .op = "task"});
    for (const int64_t time : row) times.push_back({time});
  }
  for (const auto& [from, to, time] : edges)
    tensors.push_back({.producer = from - 1, .transfer = {time}, .readers = {to - 1}});
  return CostGraph("published", {"p1", "p2", "p3"}, nodes, times, tensors);
}

Topology three_kinds() {
  Topology topology = ideal_devices(3, "");
  for (size_t i = 0; i < 3; ++i) topology.devices[i].kind = fmt::format("p{}", i + 1);
  return topology;
}

TEST(Heuristics, HeftFindsThePublishedSchedule) {
  const CostGraph graph = published_example();
  const Topology topology = three_kinds();
  Simulator simulator(graph, topology);
  const Placement placement = heft(simulator);
  EXPECT_EQ(simulator.run(placement, Dispatch::kInOrder).makespan.count, 80);
  EXPECT_THAT(placement.device, ElementsAre(2, 0, 2, 1, 2, 1, 2, 0, 1, 1));
}

TEST(Heuristics, TheyKeepGroupsTogetherAndOrdersFeasible) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph drawn = testing::random_cost_graph(2 + static_cast<int>(rng.below(25)), rng);
    std::vector<CostNode> nodes = drawn.nodes();
    std::vector<Picoseconds> costs;
    for (int node = 0; node < drawn.size(); ++node) {
      nodes[static_cast<size_t>(node)].group = static_cast<int>(rng.below(8)) - 4;
      for (int kind = 0; kind < 2; ++kind) costs.push_back(drawn.cost(node, kind));
    }
    for (CostNode& node : nodes) node.group = std::max(node.group, -1);
    const CostGraph graph("groups", drawn.kinds(), nodes, costs, drawn.tensors());
    const Topology topology = testing::random_topology(rng);
    Simulator simulator(graph, topology);
    for (const Placement& placement : {heft(simulator), etf(simulator), m_topo(simulator)}) {
      EXPECT_GE(simulator.run(placement, Dispatch::kInOrder).makespan,
                interval_bound(graph, topology));
      std::map<int, int> of_group;
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].group < 0) continue;
        const auto [first, unused] = of_group.try_emplace(nodes[i].group, placement.device[i]);
        EXPECT_EQ(first->second, placement.device[i]);
      }
    }
  }
}

TEST(Heuristics, ADeviceWithoutRoomIsLeftOutWhileAnotherHasSome) {
  std::vector<CostNode> nodes(3, {.name = "n", .op = "task", .persistent_bytes = 10});
  const CostGraph graph("memory", {"d"}, nodes, {{1}, {1}, {1}}, {});
  Topology topology = ideal_devices(2, "d");
  topology.devices[0].memory_bytes = 10;
  Simulator simulator(graph, topology);
  for (const Placement& placement : {heft(simulator), etf(simulator), m_topo(simulator)}) {
    EXPECT_TRUE(simulator.run(placement).feasible());
    EXPECT_EQ(std::ranges::count(placement.device, 0), 1);
  }
  topology.devices[1].memory_bytes = 10;
  EXPECT_FALSE(simulator.run(heft(simulator)).feasible());
}

TEST(Heuristics, ADeviceRunsAllInTheSumOfItsTimes) {
  const CostGraph graph = published_example();
  const Topology topology = three_kinds();
  Simulator simulator(graph, topology);
  const Placement placement = on_one_device(simulator, 1);
  EXPECT_THAT(placement.device, Each(1));
  EXPECT_EQ(simulator.run(placement).makespan.count, 130);
}

TEST(Heuristics, BesideOptimaWithCommunication) {
  const auto files = testing::reference_files("optimal-comm");
  if (files.empty()) GTEST_SKIP() << "no reference data";
  int by_heft = 0, by_etf = 0;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const testing::ExactCase one(file);
    Simulator simulator(one.graph, one.topology);
    const int64_t found = simulator.run(heft(simulator), Dispatch::kInOrder).makespan.count;
    const int64_t other = simulator.run(etf(simulator), Dispatch::kInOrder).makespan.count;
    EXPECT_GE(found, one.optimal);
    EXPECT_GE(other, one.optimal);
    by_heft += found == one.optimal ? 1 : 0;
    by_etf += other == one.optimal ? 1 : 0;
  }
  EXPECT_EQ(by_heft, 27);
  EXPECT_EQ(by_etf, 18);
}

}  // namespace
}  // namespace reverie
