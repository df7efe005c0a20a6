#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/random.h"
#include "env/placement/simulator/simulator.h"

namespace reverie::testing {

/// Nodes "n0", "n1", ... with these times on devices of kind "d", and what they
/// send each other.
inline CostGraph graph_of(const std::vector<int64_t>& times, std::vector<CostTensor> tensors) {
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> costs;
  for (const int64_t time : times) {
    nodes.push_back({.name = fmt::format("n{}", nodes.size()), .op = "task"});
    costs.push_back({time});
  }
  return CostGraph("graph", {"d"}, nodes, costs, std::move(tensors));
}

/// Two kinds of devices; bytes, memory and times are drawn. Every time is at
/// least 1.
inline CostGraph random_cost_graph(int size, Rng& rng) {
  const auto draw = [&](int low, int high) {
    return low + static_cast<int64_t>(rng.below(static_cast<uint64_t>(high - low + 1)));
  };
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> costs;
  std::vector<CostTensor> tensors;
  for (int node = 0; node < size; ++node) {
    nodes.push_back({fmt::format("n{}", node), "task", draw(0, 9), draw(0, 9)});
    costs.push_back({draw(1, 20)});
    costs.push_back({draw(1, 20)});
    for (int64_t output = draw(0, 2); output > 0; --output) {
      CostTensor tensor{.producer = node, .bytes = draw(1, 30), .readers = {}};
      if (rng.below(2) == 0) tensor.transfer = {draw(1, 20)};
      for (int reader = node + 1; reader < size; ++reader)
        if (rng.below(static_cast<uint64_t>(size)) < 3) tensor.readers.push_back(reader);
      // Of two tensors no node reads both, as an edge stands for one.
      if (!tensors.empty() && tensors.back().producer == node)
        std::erase_if(tensor.readers, [&](int reader) {
          return std::ranges::count(tensors.back().readers, reader) > 0;
        });
      tensors.push_back(std::move(tensor));
    }
  }
  return CostGraph("random", {"a", "b"}, nodes, costs, std::move(tensors));
}

inline Topology random_topology(Rng& rng) {
  Topology topology;
  const auto devices = 1 + rng.below(4);
  for (uint64_t i = 0; i < devices; ++i) {
    const int64_t memory = rng.below(2) == 0 ? Device::kUnlimited : 40;
    topology.devices.push_back({fmt::format("d{}", i), rng.below(2) == 0 ? "a" : "b", memory});
  }
  topology.buses = 2;
  for (uint64_t i = 0; i < devices * devices; ++i)
    topology.links.push_back({.latency = {1 + static_cast<int64_t>(rng.below(3))},
                              .bytes_per_second = rng.below(2) == 0 ? 1e12 : 3e12,
                              .bus = static_cast<int>(rng.below(3)) - 1});
  topology.send_engines = rng.below(2) == 0;
  topology.receive_engines = rng.below(2) == 0;
  topology.shared_buses = rng.below(2) == 0;
  return topology;
}

inline Placement random_placement(const CostGraph& graph, const Topology& topology, Rng& rng) {
  Placement placement;
  for (int node = 0; node < graph.size(); ++node) {
    placement.device.push_back(static_cast<int>(rng.below(static_cast<uint64_t>(topology.size()))));
    placement.priority.push_back(static_cast<int64_t>(rng.below(5)));
  }
  return placement;
}

/// Of the reference data, which is not part of the project.
inline std::vector<std::string> reference_files(const std::string& folder) {
  const std::string path = fmt::format("{}/../shared/placement/{}", REVERIE_SOURCE_DIR, folder);
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(path, none))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// A graph with communication whose optimum is known, on its devices without contention.
struct ExactCase {
  explicit ExactCase(const std::string& file)
      : json(Json::parse(read_file(file))),
        graph(read_cost_graph(file)),
        topology(ideal_devices(static_cast<int>(json.at("devices").array().size()), "")),
        optimal(json.at("reference").at("optimal").get<int64_t>() * kUnit) {
    for (size_t i = 0; i < topology.devices.size(); ++i)
      topology.devices[i].kind = json.at("devices").array()[i].at("kind").get<std::string>();
  }

  static constexpr int64_t kUnit = 1000000;  // of the files, whose times are whole
  Json json;
  CostGraph graph;
  Topology topology;
  int64_t optimal;  ///< makespan in picoseconds
};

}  // namespace reverie::testing
