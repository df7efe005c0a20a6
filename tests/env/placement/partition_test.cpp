#include "env/placement/search/partition.h"

#include <gmock/gmock.h>

#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

CostTensor sent(int from, std::vector<int> readers, int64_t time) {
  return {.producer = from, .bytes = 1, .transfer = {time}, .readers = std::move(readers)};
}

TEST(Partition, CutsWhereLittleIsSent) {
  // A ladder: across the rungs more tensors are cut than across the sides, but lighter ones.
  std::vector<CostTensor> tensors;
  for (int node = 0; node < 4; ++node) {
    if (node < 3) tensors.push_back(sent(node, {node + 1}, 100));
    tensors.push_back(sent(node, {node + 4}, 1));
  }
  for (int node = 4; node < 7; ++node) tensors.push_back(sent(node, {node + 1}, 100));
  const CostGraph graph = testing::graph_of(std::vector<int64_t>(8, 5), tensors);
  const Topology topology = ideal_devices(2, "d");
  const Placement placement = partition(Simulator(graph, topology), PlacementObjective::kMakespan);
  for (const int node : {1, 2, 3})
    EXPECT_EQ(placement.device[0], placement.device[static_cast<size_t>(node)]);
  for (const int node : {5, 6, 7})
    EXPECT_EQ(placement.device[4], placement.device[static_cast<size_t>(node)]);
  EXPECT_NE(placement.device[0], placement.device[4]);
}

TEST(Partition, AFasterDeviceGetsMore) {
  const std::vector<CostNode> nodes(40, {.name = "n", .op = "task", .persistent_bytes = 1});
  std::vector<Picoseconds> costs;
  for (size_t node = 0; node < nodes.size(); ++node) costs.insert(costs.end(), {{1}, {3}});
  const CostGraph graph("speeds", {"fast", "slow"}, nodes, costs, {});
  Topology topology = ideal_devices(2, "slow");
  topology.devices[1].kind = "fast";
  const Simulator simulator(graph, topology);
  const auto on_fast = [&](PlacementObjective objective) {
    return std::ranges::count(partition(simulator, objective).device, 1);
  };
  EXPECT_NEAR(static_cast<double>(on_fast(PlacementObjective::kMakespan)), 30, 2);
  EXPECT_NEAR(static_cast<double>(on_fast(PlacementObjective::kPeakMemory)), 20, 2);
}

TEST(Partition, RunsDepthFirst) {
  // A node with two chains behind it: one of them is run to its end before the other one begins.
  const CostGraph graph = testing::graph_of(std::vector<int64_t>(5, 1),
                                            {sent(0, {1, 2}, 1), sent(1, {3}, 1), sent(2, {4}, 1)});
  const Topology topology = ideal_devices(1, "d");
  const auto order = partition(Simulator(graph, topology), PlacementObjective::kMakespan).priority;
  EXPECT_THAT(order, ElementsAre(0, -1, -3, -2, -4));
}

}  // namespace
}  // namespace reverie
