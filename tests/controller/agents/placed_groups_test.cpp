#include "controller/agents/placed_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "env/placement/simulator/ordered_placement.h"
#include "tests/controller/agents/toys.h"

namespace reverie::testing {
namespace {

using ::testing::ElementsAre;

/// 3 -> 0 -> {1, 2}, of which 0 and 2 stay together; 3 gives 0 what it gives 1.
CostGraph numbered_backwards() {
  std::vector<CostNode> nodes(4);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = fmt::format("n{}", i);
    nodes[i].op = i < 2 ? "MatMul" : "Relu";
  }
  nodes[0].group = nodes[2].group = 0;
  return CostGraph("backwards", {"d"}, nodes, {{1}, {2}, {4}, {8}},
                   {{.producer = 0, .bytes = 255, .readers = {1}},
                    {.producer = 0, .bytes = 7, .readers = {2}},
                    {.producer = 3, .bytes = 1, .readers = {0, 1}}});
}

TEST(PlacedGroups, FollowEachOtherInTopologicalOrder) {
  const PlacedGroups groups(numbered_backwards(), 10);
  EXPECT_EQ(groups.size(), 3);
  EXPECT_THAT(groups.of_node(), ElementsAre(1, 2, 1, 0));
  EXPECT_THAT(groups.readers(), ElementsAre(ElementsAre(1, 2), ElementsAre(2), ElementsAre()));
  EXPECT_THAT(groups.spread({5, 6, 7}), ElementsAre(6, 7, 6, 5));
}

TEST(PlacedGroups, CountTypesAndMeasureWhatLeaves) {
  const PlacedGroups groups(numbered_backwards(), 10);
  EXPECT_TRUE(torch::equal(groups.types().sum(1), torch::tensor({1.0f, 2.0f, 1.0f})));
  EXPECT_TRUE(torch::equal(groups.types()[1], groups.types()[0] + groups.types()[2]));
  EXPECT_FLOAT_EQ(groups.outputs()[1][0].item<float>(), 8.0f / 32);
  EXPECT_FLOAT_EQ(groups.outputs()[0][0].item<float>(), 1.0f / 32);
  EXPECT_FLOAT_EQ(groups.outputs().sum().item<float>(), 9.0f / 32);
}

TEST(PlacedGroups, AreNoMoreThanAllowed) {
  EXPECT_EQ(PlacedGroups(numbered_backwards(), 2).size(), 2);
}

TEST(JudgedGraph, JudgesByTheBestDeviceAlone) {
  const CostGraph graph = numbered_backwards();
  Topology topology = ideal_devices(2, "d");
  topology.devices[1].memory_bytes = 0;
  Evaluator evaluator(graph, topology, PlacementObjective::kMakespan, {});
  const JudgedGraph judged(evaluator, 10);
  EXPECT_EQ(evaluator.evaluations(), 0);
  EXPECT_EQ(judged.ratio(judged.evaluate({0, 0, 0})), 1);
  const Outcome over = judged.evaluate({1, 1, 1});
  EXPECT_FALSE(over.feasible());
  EXPECT_EQ(judged.ratio(over), 1);
  EXPECT_EQ(evaluator.evaluations(), 2);
}

TEST(JudgedGraph, PeakMemoryIsJudgedToo) {
  const CostGraph graph = numbered_backwards();
  const Topology topology = ideal_devices(2, "d");
  Evaluator evaluator(graph, topology, PlacementObjective::kPeakMemory, {});
  const JudgedGraph judged(evaluator, 10);
  EXPECT_EQ(judged.ratio({.makespan = {900}, .peak_bytes = 526}), 2);
}

}  // namespace
}  // namespace reverie::testing
