#include "env/placement/simulator/simulator.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::graph_of;
using ::testing::HasSubstr;

constexpr Picoseconds kTen{10};

Topology devices(int count) {
  Topology topology = ideal_devices(count, "d");
  topology.send_engines = topology.receive_engines = topology.shared_buses = true;
  return topology;
}

int64_t makespan(const CostGraph& graph, const Topology& topology, Placement placement,
                 Dispatch dispatch = Dispatch::kReady) {
  return Simulator(graph, topology).run(placement, dispatch).makespan.count;
}

std::vector<int64_t> starts(const CostGraph& graph, const Topology& topology,
                            const Placement& placement, Dispatch dispatch = Dispatch::kReady) {
  Timeline timeline;
  Simulator(graph, topology).run(placement, dispatch, &timeline);
  std::vector<int64_t> all(placement.device.size());
  for (const auto& run : timeline.runs) all[static_cast<size_t>(run.node)] = run.start.count;
  return all;
}

TEST(Simulator, OneDeviceTakesTheSum) {
  const CostGraph graph = graph_of({3, 4, 5}, {{.producer = 0, .transfer = kTen, .readers = {2}}});
  EXPECT_EQ(makespan(graph, devices(1), {{0, 0, 0}, {}}), 12);
}

TEST(Simulator, ATransferTakesItsTimeOrThatOfItsLink) {
  Topology two = devices(2);
  for (Link& link : two.links) link = {.latency = {5}, .bytes_per_second = 2e12};
  const CostGraph given =
      graph_of({3, 4}, {{.producer = 0, .bytes = 7, .transfer = kTen, .readers = {1}}});
  const CostGraph by_link = graph_of({3, 4}, {{.producer = 0, .bytes = 7, .readers = {1}}});
  EXPECT_EQ(makespan(given, two, {{0, 1}, {}}), 3 + 10 + 4);
  EXPECT_EQ(makespan(by_link, two, {{0, 1}, {}}),
            3 + 5 + 4 + 4);  // 3.5 ps are 4
  EXPECT_EQ(makespan(given, two, {{1, 1}, {}}), 7);
}

/// 0 sends two tensors; 1 and 2 read one each, 3 the first again.
CostGraph fan() {
  return graph_of({1, 1, 1, 1}, {{.producer = 0, .transfer = kTen, .readers = {1, 3}},
                                 {.producer = 0, .transfer = {20}, .readers = {2}}});
}

TEST(Simulator, ATensorIsSentOnceToADevice) {
  Timeline timeline;
  const CostGraph graph = fan();
  const Topology two = devices(2);
  Simulator(graph, two).run({{0, 1, 0, 1}, {}}, Dispatch::kReady, &timeline);
  ASSERT_EQ(timeline.transfers.size(), 1u);
  EXPECT_EQ(timeline.transfers[0].start.count, 1);
  EXPECT_EQ(timeline.transfers[0].end.count, 11);
}

TEST(Simulator, ASendingEngineSendsOneTensorAtATime) {
  Topology three = devices(3);
  EXPECT_THAT(starts(fan(), three, {{0, 1, 2, 1}, {}}), ElementsAre(0, 11, 31, 12));
  three.send_engines = false;
  EXPECT_THAT(starts(fan(), three, {{0, 1, 2, 1}, {}}), ElementsAre(0, 11, 21, 12));
}

TEST(Simulator, AReceivingEngineReceivesOneTensorAtATime) {
  const CostGraph graph = graph_of({1, 2, 1}, {{.producer = 0, .transfer = kTen, .readers = {2}},
                                               {.producer = 1, .transfer = kTen, .readers = {2}}});
  Topology three = devices(3);
  EXPECT_EQ(makespan(graph, three, {{0, 1, 2}, {}}), 1 + 10 + 10 + 1);
  three.receive_engines = false;
  EXPECT_EQ(makespan(graph, three, {{0, 1, 2}, {}}), 2 + 10 + 1);
}

TEST(Simulator, ABusCarriesOneTensorAtATime) {
  const CostGraph graph =
      graph_of({1, 2, 1, 1}, {{.producer = 0, .transfer = kTen, .readers = {2}},
                              {.producer = 1, .transfer = kTen, .readers = {3}}});
  Topology four = devices(4);
  EXPECT_EQ(makespan(graph, four, {{0, 1, 2, 3}, {}}), 13);
  four.buses = 1;
  for (Link& link : four.links) link.bus = 0;
  EXPECT_EQ(makespan(graph, four, {{0, 1, 2, 3}, {}}), 22);
  four.shared_buses = false;
  EXPECT_EQ(makespan(graph, four, {{0, 1, 2, 3}, {}}), 13);
}

TEST(Simulator, PriorityThenReadyTimeThenNumberDecide) {
  const CostGraph graph = graph_of({2, 1, 1, 1}, {{.producer = 0, .readers = {1}}});
  const Topology two = devices(2);
  EXPECT_THAT(starts(graph, two, {{0, 1, 1, 1}, {}}), ElementsAre(0, 2, 0, 1));
  EXPECT_THAT(starts(graph, two, {{0, 1, 1, 1}, {0, 0, 0, 1}}), ElementsAre(0, 2, 1, 0));
  const CostGraph late = graph_of({3, 1, 2, 2}, {{.producer = 1, .readers = {2}}});
  EXPECT_THAT(starts(late, two, {{0, 1, 0, 0}, {9, 0, 0, 0}}), ElementsAre(0, 0, 5, 3));
}

TEST(Simulator, InOrderADeviceWaitsForItsNextNode) {
  const CostGraph graph = graph_of({2, 1, 1}, {{.producer = 0, .readers = {1}}});
  const Topology two = devices(2);
  const Placement placement{{0, 1, 1}, {0, 2, 1}};
  EXPECT_THAT(starts(graph, two, placement), ElementsAre(0, 2, 0));
  EXPECT_THAT(starts(graph, two, placement, Dispatch::kInOrder), ElementsAre(0, 2, 3));
}

TEST(Simulator, AnOrderAgainstTheGraphIsRefused) {
  const CostGraph graph = graph_of({2, 1}, {{.producer = 0, .readers = {1}}});
  const Topology one = devices(1);
  EXPECT_THROW(makespan(graph, one, {{0, 0}, {0, 1}}, Dispatch::kInOrder), InputError);
  EXPECT_EQ(makespan(graph, one, {{0, 0}, {0, 1}}), 3);
}

/// 0 to 1 to 2, and 0 to 2: bytes 10 and 4, and 100 that nobody reads.
CostGraph chain_of_bytes() {
  std::vector<CostNode> nodes = {{"a", "t", 1000, 7}, {"b", "t", 0, 5}, {"c", "t", 0, 3}};
  std::vector<CostTensor> tensors = {
      {.producer = 0, .bytes = 10, .transfer = kTen, .readers = {1, 2}},
      {.producer = 1, .bytes = 4, .transfer = kTen, .readers = {2}},
      {.producer = 2, .bytes = 100, .readers = {}}};
  return CostGraph("bytes", {"d"}, nodes, {{1}, {1}, {1}}, tensors);
}

TEST(Simulator, BytesComeAndGoOnOneDevice) {
  Timeline timeline;
  const CostGraph graph = chain_of_bytes();
  const Topology one = devices(1);
  const Outcome outcome = Simulator(graph, one).run({{0, 0, 0}, {}}, Dispatch::kReady, &timeline);
  std::vector<int64_t> bytes;
  for (const auto& step : timeline.memory) bytes.push_back(step.bytes);
  // Persistent; node a with its output; its temporary ends; b with its output;
  // ...
  EXPECT_THAT(bytes, ElementsAre(1000, 1017, 1010, 1019, 1014, 1117, 1114, 1104, 1100));
  EXPECT_EQ(outcome.peak_bytes, 1117);
}

TEST(Simulator, ATensorIsOnBothSidesOfATransfer) {
  Timeline timeline;
  const CostGraph graph = chain_of_bytes();
  Topology two = devices(2);
  two.devices[0].memory_bytes = 1016;
  two.devices[1].memory_bytes = 110;
  const Outcome outcome = Simulator(graph, two).run({{0, 1, 1}, {}}, Dispatch::kReady, &timeline);
  std::vector<int64_t> bytes[2], times[2];
  for (const auto& step : timeline.memory) {
    bytes[step.device].push_back(step.bytes);
    times[step.device].push_back(step.time.count);
  }
  EXPECT_THAT(bytes[0], ElementsAre(1000, 1017, 1010, 1000));
  EXPECT_THAT(times[0], ElementsAre(0, 0, 1, 11));
  EXPECT_THAT(bytes[1], ElementsAre(10, 19, 14, 117, 114, 104, 100));
  EXPECT_THAT(times[1], ElementsAre(1, 11, 12, 12, 13, 13, 13));
  EXPECT_EQ(outcome.bytes_over, 1 + 7);
  EXPECT_FALSE(outcome.feasible());
}

TEST(Simulator, NodesWithoutCostEndWhenTheyBegin) {
  const CostGraph graph =
      graph_of({0, 0, 0}, {{.producer = 0, .readers = {1}}, {.producer = 1, .readers = {2}}});
  EXPECT_EQ(makespan(graph, devices(1), {{0, 0, 0}, {}}), 0);
}

TEST(Simulator, WhatDoesNotFitTheGraphIsRefused) {
  const CostGraph graph = graph_of({1, 1}, {});
  const Topology one = devices(1);
  const auto refused = [&](const Placement& placement, const char* words) {
    try {
      Simulator(graph, one).run(placement);
      ADD_FAILURE() << words;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  };
  refused({{0}, {}}, "a placement of 1 nodes");
  refused({{0, 1}, {}}, "no device 1");
  refused({{0, 0}, {1}}, "1 priorities");
  EXPECT_THROW(Simulator(graph, ideal_devices(1, "gpu")), InputError);
}

}  // namespace
}  // namespace reverie
