#include "env/placement/report/gantt_lanes.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/env/placement/timelines.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::long_placed;
using testing::Placed;
using testing::random_placed;

constexpr size_t kMany = 1000000;

struct Sums {
  int64_t busy = 0;
  int count = 0;
};

Sums sums_of(const std::vector<GanttLane>& lanes, bool sends) {
  Sums sums;
  for (const GanttLane& lane : lanes)
    for (const GanttBlock& block : lane.blocks)
      if (lane.sends == sends) {
        sums.busy += block.busy.count;
        sums.count += block.count;
      }
  return sums;
}

TEST(GanttLanesTest, BlocksHoldEveryRunAndTransferOnce) {
  Rng rng(5);
  for (int trial = 0; trial < 40; ++trial) {
    const Placed placed = random_placed(60, rng);
    const TypeRanks types(placed.graph, placed.timeline, 7);
    for (const int64_t shortest : {1, 5, 40, 1000}) {
      const auto lanes = gantt_lanes(placed.topology, placed.timeline, types, {shortest}, kMany);
      EXPECT_EQ(sums_of(lanes, false).busy, placed.busy());
      EXPECT_EQ(sums_of(lanes, false).count, placed.graph.size());
      EXPECT_EQ(sums_of(lanes, true).count, std::ssize(placed.timeline.transfers));
    }
  }
}

TEST(GanttLanesTest, OnlyWhatIsShortAndCloseIsMerged) {
  const CostGraph graph = testing::graph_of({2, 3, 20, 4, 1, 2}, {});
  Timeline timeline;
  int64_t at = 0;
  for (int node = 0; node < 6; ++node) {
    const int64_t cost = graph.cost(node, 0).count;
    timeline.runs.push_back({node, 0, {at}, {at + cost}});
    at += cost + (node == 4 ? 50 : 0);
  }
  const TypeRanks types(graph, timeline, 7);
  const auto lanes = gantt_lanes(ideal_devices(1, "d"), timeline, types, {10}, kMany);
  ASSERT_EQ(lanes.size(), 1u);
  std::vector<std::pair<int, int64_t>> blocks;
  for (const GanttBlock& block : lanes[0].blocks)
    blocks.emplace_back(block.count, block.busy.count);
  EXPECT_THAT(blocks,
              ElementsAre(std::pair(2, 5), std::pair(1, 20), std::pair(2, 5), std::pair(1, 2)));
  EXPECT_EQ(lanes[0].blocks[2].start, Picoseconds{25});
  EXPECT_EQ(lanes[0].blocks[2].end, Picoseconds{30});
  EXPECT_EQ(lanes[0].blocks[2].first, 3);
}

TEST(GanttLanesTest, ManyRunsBecomeFewBlocks) {
  const Placed placed = long_placed(4, 5000);
  const TypeRanks types(placed.graph, placed.timeline, 7);
  const auto all = gantt_lanes(placed.topology, placed.timeline, types, {1}, kMany);
  EXPECT_EQ(all[0].blocks.size(), 5000u);
  for (const size_t most : {3000, 100, 1}) {
    const auto lanes = gantt_lanes(placed.topology, placed.timeline, types, {1}, most);
    size_t blocks = 0;
    for (const GanttLane& lane : lanes) blocks += lane.blocks.size();
    EXPECT_LE(blocks, std::max<size_t>(most, 4));
    EXPECT_GE(blocks, std::max<size_t>(most / 4, 4)) << "no coarser than it must be";
    EXPECT_EQ(sums_of(lanes, false).busy, placed.busy());
  }
}

TEST(GanttLanesTest, TheTypesThatTakeLongestHaveNames) {
  std::vector<CostNode> nodes;
  for (const char* op : {"rare", "long", "often", "often", "free"}) nodes.push_back({"n", op});
  const CostGraph graph("g", {"d"}, nodes, {{2}, {10}, {2}, {2}, {0}}, {});
  Timeline timeline;
  Simulator(graph, ideal_devices(1, "d"))
      .run({std::vector<int>(5, 0), {}}, Dispatch::kReady, &timeline);
  const TypeRanks two(graph, timeline, 2);
  EXPECT_THAT(two.named(), ElementsAre("long", "often"));
  EXPECT_THAT(two.shares(), ElementsAre(10 / 16.0, 4 / 16.0, 2 / 16.0));
  EXPECT_EQ(two.rank(1), 0u);
  EXPECT_EQ(two.rank(3), 1u);
  EXPECT_EQ(two.rank(0), 2u);
  EXPECT_THAT(TypeRanks(graph, timeline, 7).named(), ElementsAre("long", "often", "rare"))
      << "a type that takes no time has no name";
  const auto lanes = gantt_lanes(ideal_devices(1, "d"), timeline, two, {100}, kMany);
  ASSERT_EQ(lanes[0].blocks.size(), 1u);
  EXPECT_EQ(lanes[0].blocks[0].rank, 0u) << "that of most of the time";
}

}  // namespace
}  // namespace reverie
