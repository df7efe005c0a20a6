#include "env/placement/placement_visits.h"

#include <gtest/gtest.h>

#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

/// 0 -> 1 -> 2 and 3, where 0 and 2 stay together; node i takes 10 (i + 1) and weighs 1 << i.
CostGraph chain_and_one() {
  std::vector<CostNode> nodes(4, {.name = "n", .op = "task"});
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].persistent_bytes = 1 << i;
  nodes[0].group = nodes[2].group = 7;
  return CostGraph("chain", {"d"}, nodes, {{10}, {20}, {30}, {40}},
                   {{.producer = 0, .bytes = 1, .transfer = {5}, .readers = {1}},
                    {.producer = 1, .bytes = 1, .transfer = {5}, .readers = {2}}});
}

struct Visited {
  CostGraph graph = chain_and_one();
  Topology two = ideal_devices(2, "d");
  Simulator simulator{graph, two};
  PlacementEntities entities{graph};
  PlacementVisits visits{simulator, entities};
};

TEST(PlacementVisits, GroupsComeByFirstNodesThoseWithMostBehindThemFirst) {
  const Visited of;
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(of.visits.group(n), n) << "0 and 2, then 1, then 3";
    EXPECT_EQ(of.visits.place(n), n);
  }
}

TEST(PlacementVisits, APlanSchedulesWhatItCanAndCountsAllElse) {
  const Visited of;
  PlacementState state{{0, 0, 0}, {0, 0, 0}};
  PlannedPlacement plan = of.visits.plan(state);
  EXPECT_EQ(plan.timeline.runs.size(), 0);
  EXPECT_EQ(plan.outcome.makespan.count, 0);
  EXPECT_EQ(plan.at_least.count, 100) << "all one after the other";

  state = {{1, 0, 0}, {0, 0, 0}, 1};
  plan = of.visits.plan(state);
  EXPECT_EQ(plan.timeline.runs.size(), 1) << "node 2 waits for 1, which is not placed";
  EXPECT_EQ(plan.outcome.makespan.count, 10);
  EXPECT_EQ(plan.at_least.count, 10 + 30 + 20 + 40);
  EXPECT_EQ(plan.outcome.peak_bytes, 1 + 4);

  state = {{1, 0, 0}, {0, 0, 0}, 2};
  plan = of.visits.plan(state);
  EXPECT_EQ(plan.outcome.makespan.count, 70) << "10, sent by 15, 20, sent by 40, 30";
  EXPECT_EQ(plan.at_least.count, 70 + 40);

  state = {{1, 0, 0}, {0, 0, 0}, 3};
  plan = of.visits.plan(state);
  EXPECT_EQ(plan.timeline.runs.size(), 4);
  EXPECT_EQ(plan.at_least, plan.outcome.makespan);
  EXPECT_EQ(plan.outcome.peak_bytes, 2 + 8);
}

TEST(PlacementVisits, APlanSaysHowManyBytesAreMissing) {
  Visited of;
  for (Device& device : of.two.devices) device.memory_bytes = 4;
  EXPECT_EQ(of.visits.plan({{1, 0, 0}, {0, 0, 0}, 2}).outcome.bytes_over, 1);
}

}  // namespace
}  // namespace reverie
