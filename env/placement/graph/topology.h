#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "env/placement/graph/cost_graph.h"

namespace reverie {

struct Device {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  std::string name, kind;
  int64_t memory_bytes = kUnlimited;
};

/// From one device to another. A transfer takes the latency and bytes /
/// bandwidth, or what its tensor says.
struct Link {
  Picoseconds latency;
  double bytes_per_second = std::numeric_limits<double>::infinity();
  int bus = -1;  ///< that it shares with the other links of this number; -1: with none

  bool operator==(const Link&) const = default;
};

/// Devices and what joins them.
struct Topology {
  std::string name;
  std::vector<Device> devices;
  std::vector<Link> links;  ///< from each device to each, row by row; those to
                            ///< itself are not used
  int buses = 0;
  bool send_engines = true;     ///< a device sends one tensor at a time
  bool receive_engines = true;  ///< and receives one at a time
  bool shared_buses = true;     ///< a bus carries one tensor at a time

  int size() const { return static_cast<int>(devices.size()); }
  const Link& link(int from, int to) const {
    return links[static_cast<size_t>(from) * devices.size() + static_cast<size_t>(to)];
  }
};

/// Equal devices without limits, joined by links without latency, limit or
/// contention.
Topology ideal_devices(int count, const std::string& kind);

/// A YAML file (env/placement/README.md), or one of the names of
/// `known_topologies`. InputError with the file and what is wrong there.
Topology read_topology(const std::string& name_or_path);
/// What a file in the format placement-graph/1 says in `devices`, `links` and `engines`, which are
/// those of a YAML file; nothing where it names no devices. Without links they are joined by such
/// as ideal_devices has. InputError as read_topology.
std::optional<Topology> topology_in_graph(const std::string& path);
/// "2xv100-nvlink", "8xh100", "cpu+gpu".
std::vector<std::string> known_topologies();

}  // namespace reverie
