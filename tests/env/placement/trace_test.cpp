#include "env/placement/report/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/json.h"
#include "tests/env/placement/timelines.h"

namespace reverie {
namespace {

using testing::Placed;
using testing::random_placed;

std::vector<Json> events_of(const Placed& placed, const std::string& phase) {
  const Json trace = Json::parse(perfetto_trace(placed.graph, placed.topology, placed.timeline));
  std::vector<Json> events;
  for (const Json& event : trace.at("traceEvents").array())
    if (event.at("ph").get<std::string>() == phase) events.push_back(event);
  return events;
}

std::string text(const Json& event, const char* field) {
  return event.at(field).get<std::string>();
}
double microseconds(Picoseconds time) { return static_cast<double>(time.count) / 1e6; }
std::pair<int, int> lane_of(const Json& event) {
  return {event.at("pid").get<int>(), event.at("tid").get<int>()};
}

TEST(TraceTest, EveryRunAndTransferIsOneEvent) {
  Rng rng(11);
  for (int trial = 0; trial < 20; ++trial) {
    const Placed placed = random_placed(40, rng);
    std::map<int, Timeline::Run> runs;
    for (const auto& run : placed.timeline.runs) runs.emplace(run.node, run);
    size_t transfers = 0;
    for (const Json& event : events_of(placed, "X")) {
      if (text(event, "cat") == "transfer") {
        ++transfers;
        continue;
      }
      const auto found = runs.find(event.at("args").at("node").get<int>());
      ASSERT_NE(found, runs.end()) << "twice, or no node";
      const Timeline::Run run = found->second;
      EXPECT_EQ(text(event, "name"), placed.graph.nodes()[static_cast<size_t>(run.node)].name);
      EXPECT_EQ(event.at("ts").get<double>(), microseconds(run.start));
      EXPECT_EQ(event.at("dur").get<double>(), microseconds(run.end - run.start));
      EXPECT_EQ(event.at("pid").get<int>(), run.device + 1);
      runs.erase(found);
    }
    EXPECT_TRUE(runs.empty());
    EXPECT_EQ(transfers, placed.timeline.transfers.size());
  }
}

/// Where engines are off, a link carries several tensors at a time.
TEST(TraceTest, EventsOfOneThreadDoNotOverlap) {
  Rng rng(12);
  bool had_second_thread = false;
  for (int trial = 0; trial < 40; ++trial) {
    const Placed placed = random_placed(40, rng);
    std::map<std::pair<int, int>, double> until;
    for (const Json& event : events_of(placed, "X")) {
      const double start = event.at("ts").get<double>();
      const auto [last, is_first] = until.emplace(lane_of(event), 0);
      EXPECT_GE(start, last->second - 1e-9);
      last->second = start + event.at("dur").get<double>();
    }
    std::set<std::pair<int, std::string>> names;
    for (const Json& event : events_of(placed, "M"))
      had_second_thread |=
          !names.emplace(event.at("pid").get<int>(), text(event.at("args"), "name")).second;
  }
  EXPECT_TRUE(had_second_thread) << "no trial had transfers that overlap";
}

TEST(TraceTest, ProcessesAndThreadsHaveNames) {
  const Placed placed = testing::awkward_placed();
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::string> processes;
  for (const Json& event : events_of(placed, "M")) {
    const std::string name = text(event.at("args"), "name");
    if (text(event, "name") == "process_name") processes[event.at("pid").get<int>()] = name;
    if (text(event, "name") == "thread_name") threads[lane_of(event)] = name;
  }
  EXPECT_EQ(processes[1], placed.topology.devices[0].name);
  EXPECT_EQ(processes[2], placed.topology.devices[1].name);
  std::map<std::string, std::string> lanes;  // by category
  for (const Json& event : events_of(placed, "X")) {
    EXPECT_EQ(text(event, "name"), testing::kAwkward);
    lanes[text(event, "cat")] = threads[lane_of(event)];
  }
  EXPECT_EQ(lanes["operator"], "operators");
  EXPECT_EQ(lanes["transfer"], "to " + placed.topology.devices[1].name);
}

TEST(TraceTest, CountersEndAtTheLastBytes) {
  Rng rng(13);
  for (int trial = 0; trial < 20; ++trial) {
    const Placed placed = random_placed(40, rng);
    std::map<int, int64_t> expected, found;
    for (int device = 0; device < placed.topology.size(); ++device) expected[device + 1] = 0;
    for (const auto& step : placed.timeline.memory) expected[step.device + 1] = step.bytes;
    int64_t peak = 0;
    for (const Json& event : events_of(placed, "C")) {
      const auto bytes = event.at("args").at("bytes").get<int64_t>();
      found[event.at("pid").get<int>()] = bytes;
      peak = std::max(peak, bytes);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(peak, placed.outcome.peak_bytes);
  }
}

}  // namespace
}  // namespace reverie
