// Against schedules and bounds that are known; skipped where the data are not
// there.
#include <gtest/gtest.h>

#include <map>

#include "core/base/files.h"
#include "core/base/json.h"
#include "env/placement/simulator/bounds.h"
#include "env/placement/simulator/simulator.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using testing::ExactCase;
using testing::reference_files;

constexpr int64_t kUnit = ExactCase::kUnit;

TEST(References, OptimalSchedulesWithCommunicationAreReplayed) {
  const auto files = reference_files("optimal-comm");
  if (files.empty()) GTEST_SKIP() << "no reference data";
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const ExactCase one(file);
    Placement placement{std::vector<int>(one.graph.nodes().size()),
                        std::vector<int64_t>(one.graph.nodes().size())};
    for (const Json& run : one.json.at("schedule").array()) {
      const auto node = run.at("node").get<size_t>();
      placement.device[node] = run.at("device").get<int>();
      placement.priority[node] = -run.at("start").get<int64_t>();
    }
    Simulator simulator(one.graph, one.topology);
    EXPECT_EQ(simulator.run(placement, Dispatch::kInOrder).makespan.count, one.optimal);
    EXPECT_LE(interval_bound(one.graph, one.topology).count, one.optimal);
  }
}

/// Upwards from the ends: the length of the longest path from a node on.
std::vector<int64_t> levels(const CostGraph& graph) {
  std::vector<int64_t> level(static_cast<size_t>(graph.size()));
  for (auto node = graph.order().rbegin(); node != graph.order().rend(); ++node) {
    int64_t longest = 0;
    const auto [first, last] = graph.outputs(*node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
        longest = std::max(longest, level[static_cast<size_t>(reader)]);
    level[static_cast<size_t>(*node)] = longest + graph.cost(*node, 0).count;
  }
  return level;
}

/// List scheduling on equal devices without communication: nodes go where one
/// is free first.
int64_t list_schedule(const CostGraph& graph, const Topology& topology,
                      const std::vector<int64_t>& priority) {
  Placement placement{std::vector<int>(static_cast<size_t>(graph.size())), priority};
  std::vector<int64_t> free(topology.devices.size()), end(placement.device.size());
  std::vector<int> left = graph.order();
  while (!left.empty()) {
    const auto device = std::ranges::min_element(free) - free.begin();
    const auto ready = [&](int node) {
      int64_t time = free[static_cast<size_t>(device)];
      for (const int tensor : graph.inputs(node)) {
        const int producer = graph.tensors()[static_cast<size_t>(tensor)].producer;
        const bool waits = std::ranges::count(left, producer) > 0;
        time = std::max(time, waits ? INT64_MAX : end[static_cast<size_t>(producer)]);
      }
      return time;
    };
    const auto next = std::ranges::min_element(left, {}, [&](int node) {
      return std::pair(ready(node), -priority[static_cast<size_t>(node)]);
    });
    const int node = *next;
    end[static_cast<size_t>(node)] = ready(node) + graph.cost(node, 0).count;
    free[static_cast<size_t>(device)] = end[static_cast<size_t>(node)];
    placement.device[static_cast<size_t>(node)] = static_cast<int>(device);
    placement.priority[static_cast<size_t>(node)] = -static_cast<int64_t>(end.size() - left.size());
    left.erase(next);
  }
  const int64_t makespan =
      Simulator(graph, topology).run(placement, Dispatch::kInOrder).makespan.count;
  EXPECT_EQ(makespan, std::ranges::max(end));
  return makespan;
}

TEST(References, OptimaWithoutCommunicationAreTheIntervalBoundAndOftenReached) {
  const auto files = reference_files("optimal");
  if (files.empty()) GTEST_SKIP() << "no reference data";
  int closed = 0, reached = 0;
  for (const std::string& file : files) {
    const Json json = Json::parse(read_file(file));
    const CostGraph graph = read_cost_graph(file);
    for (const Json& reference : json.at("reference").array()) {
      const Json* optimal = reference.find("optimal");
      if (optimal == nullptr || optimal->is_null()) continue;
      const int processors = reference.at("processors").get<int>();
      SCOPED_TRACE(fmt::format("{} on {}", file, processors));
      const Topology topology = ideal_devices(processors, "processor");
      const int64_t best = optimal->get<int64_t>() * kUnit;
      const int64_t bound = interval_bound(graph, topology).count;
      EXPECT_EQ((bound + kUnit - 1) / kUnit * kUnit, best);
      const int64_t found = list_schedule(graph, topology, levels(graph));
      EXPECT_GE(found, best);
      ++closed;
      reached += found == best ? 1 : 0;
    }
  }
  EXPECT_EQ(closed, 341);
  EXPECT_GE(reached, 250);
}

TEST(References, GraphsOfNetworksAreReadAndRunOnOneDeviceInTheSumOfTheirTimes) {
  const auto files = reference_files("graphs");
  if (files.empty()) GTEST_SKIP() << "no reference data";
  std::map<std::string, int> read;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const Json json = Json::parse(read_file(file));
    if (json.find("critical_path") != nullptr) continue;  // times in no unit, which are too long
    const CostGraph graph = read_cost_graph(file);
    size_t edges = 0;
    for (const CostTensor& tensor : graph.tensors()) edges += tensor.readers.size();
    EXPECT_EQ(graph.nodes().size(), json.at("nodes").array().size());
    EXPECT_EQ(edges, json.at("edges").array().size());
    const Topology one = ideal_devices(1, "accelerator");
    Simulator simulator(graph, one);
    const Placement all{std::vector<int>(graph.nodes().size()), {}};
    EXPECT_EQ(simulator.run(all).makespan, work_bound(graph, one));
    EXPECT_LE(critical_path(graph, one), work_bound(graph, one));
    ++read["graphs"];
  }
  EXPECT_EQ(read["graphs"], 13);
}

}  // namespace
}  // namespace reverie
