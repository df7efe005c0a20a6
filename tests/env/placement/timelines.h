#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "env/placement/simulator/simulator.h"
#include "tests/env/placement/placements.h"

namespace reverie::testing {

/// A graph on devices, placed and run.
struct Placed {
  CostGraph graph;
  Topology topology;
  Placement placement;
  Timeline timeline;
  Outcome outcome;

  Placed(CostGraph one, Topology devices, Placement where)
      : graph(std::move(one)), topology(std::move(devices)), placement(std::move(where)) {
    outcome = Simulator(graph, topology).run(placement, Dispatch::kReady, &timeline);
  }
  int64_t busy() const {
    int64_t sum = 0;
    for (const Timeline::Run& run : timeline.runs) sum += run.end.count - run.start.count;
    return sum;
  }
};

inline Placed random_placed(int size, Rng& rng) {
  CostGraph graph = random_cost_graph(size, rng);
  Topology topology = random_topology(rng);
  Placement placement = random_placement(graph, topology, rng);
  return {std::move(graph), std::move(topology), std::move(placement)};
}

/// What must be escaped somewhere.
inline const std::string kAwkward =
    "a<b>&\"c\"\\d'e\nf\x01"
    "g";

/// Two nodes on two devices, the second reads what the first writes; everything has an awkward
/// name.
inline Placed awkward_placed() {
  std::vector<CostNode> nodes(2);
  for (CostNode& node : nodes) node = {.name = kAwkward, .op = "op" + kAwkward};
  CostGraph graph("graph" + kAwkward, {"d"}, nodes, {{4'000'000}, {6'000'000}},
                  {{.producer = 0, .bytes = 1536, .readers = {1}}});
  Topology topology = ideal_devices(2, "d");
  topology.name = "devices" + kAwkward;
  for (Device& device : topology.devices) device.name += kAwkward;
  return {std::move(graph), std::move(topology), Placement{{0, 1}, {}}};
}

/// Without transfers: `count` runs one after the other on each of some devices, of 1 to 9 time
/// units.
inline Placed long_placed(int devices, int count) {
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> costs;
  Placement placement;
  for (int i = 0; i < devices * count; ++i) {
    nodes.push_back({.name = fmt::format("node{}", i), .op = fmt::format("op{}", i % 11)});
    costs.push_back({1 + i * 7 % 9});
    placement.device.push_back(i % devices);
  }
  CostGraph graph("long", {"d"}, nodes, costs, {});
  return {std::move(graph), ideal_devices(devices, "d"), std::move(placement)};
}

inline int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace reverie::testing
