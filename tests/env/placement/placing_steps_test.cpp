#include "env/placement/search/placing_steps.h"

#include <gtest/gtest.h>

#include <cmath>

#include "env/placement/search/heuristics.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

/// 1 and 2 read of 0. The longest path goes first: 0, 2, 1.
CostGraph fork() {
  return testing::graph_of({10, 10, 30},
                           {{.producer = 0, .bytes = 1, .transfer = {4}, .readers = {1, 2}}});
}

std::vector<float> described(const PlacingSteps& steps, int devices) {
  std::vector<float> columns(static_cast<size_t>(devices) * PlacingSteps::kColumns);
  steps.describe(columns.data());
  return columns;
}

void expect_columns(const PlacingSteps& steps, const std::vector<std::vector<double>>& expected) {
  const std::vector<float> columns = described(steps, static_cast<int>(std::ssize(expected)));
  for (size_t device = 0; device < expected.size(); ++device)
    for (size_t i = 0; i < expected[device].size(); ++i)
      EXPECT_NEAR(columns[device * PlacingSteps::kColumns + i], expected[device][i], 1e-6)
          << "device " << device << ", column " << i;
}

TEST(PlacingSteps, TellsOfEachDeviceWhatIsPlacedAndScheduledThere) {
  const CostGraph graph = fork();
  const Topology two = ideal_devices(2, "d");
  const Simulator simulator(graph, two);
  const PlacingOrder order(simulator, path_ranks(simulator));
  PlacingSteps steps(order);
  ASSERT_EQ(steps.next(), 0);
  const std::vector<double> first = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  expect_columns(steps, {first, first});
  steps.place(0);
  ASSERT_EQ(steps.next(), 2);
  const double later = std::log1p(4 / (50.0 / 3)), sent = std::log1p(4.0 / 30);
  expect_columns(steps, {{0, 0, 0, std::log1p(10.0 / 30), 0.4, 0.4, sent, 0, 0},
                         {later, later, later, 0, 0, 0, 0, sent, 0}});
  steps.place(1);
  ASSERT_EQ(steps.next(), 1);
  // Device 1 has what node 1 reads at 14 and is busy until 44.
  const double busy = std::log1p(34 / (50.0 / 3)), arrives = std::log1p(4 / (50.0 / 3));
  expect_columns(steps, {{0, 0, 0, 0, 0, 0.4}, {busy, busy, arrives, std::log1p(2.0), 0.8, 1.2}});
  steps.place(0);
  EXPECT_EQ(steps.next(), -1);
}

TEST(PlacingSteps, PlacesNodesOfAGroupWithTheirFirst) {
  std::vector<CostNode> nodes(3, {.name = "n", .op = "task"});
  nodes[0].group = nodes[2].group = 7;
  const CostGraph graph("group", {"d"}, nodes, {{1}, {1}, {1}},
                        {{.producer = 0, .bytes = 1, .transfer = {1}, .readers = {1}},
                         {.producer = 1, .bytes = 1, .transfer = {1}, .readers = {2}}});
  const Topology two = ideal_devices(2, "d");
  const Simulator simulator(graph, two);
  const PlacingOrder order(simulator, path_ranks(simulator));
  PlacingSteps steps(order);
  for (const int entity : {0, 1}) {
    EXPECT_EQ(steps.next(), entity);
    steps.place(1);
  }
  EXPECT_EQ(steps.next(), -1);
}

TEST(PlacingSteps, TellsHowFullAMemoryWouldBe) {
  std::vector<CostNode> nodes(2, {.name = "n", .op = "task", .persistent_bytes = 60});
  const CostGraph graph("full", {"d"}, nodes, {{1}, {1}}, {});
  Topology two = ideal_devices(2, "d");
  two.devices[0].memory_bytes = 100;
  const Simulator simulator(graph, two);
  const PlacingOrder order(simulator, path_ranks(simulator));
  PlacingSteps steps(order);
  constexpr size_t kMemory = 8;
  EXPECT_NEAR(described(steps, 2)[kMemory], 0.6, 1e-6);
  steps.place(0);
  EXPECT_NEAR(described(steps, 2)[kMemory], 1.2, 1e-6);
  EXPECT_NEAR(described(steps, 2)[PlacingSteps::kColumns + kMemory], 0, 1e-6);
}

}  // namespace
}  // namespace reverie
