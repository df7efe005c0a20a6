#include "env/placement/topology.h"

#include <fmt/format.h>

namespace reverie {

Topology ideal_devices(int count, const std::string& kind) {
  Topology topology;
  topology.name = fmt::format("{} x {}", count, kind);
  for (int i = 0; i < count; ++i) topology.devices.push_back({fmt::format("{}{}", kind, i), kind});
  topology.links.resize(topology.devices.size() * topology.devices.size());
  topology.send_engines = topology.receive_engines = topology.shared_buses = false;
  return topology;
}

}  // namespace reverie
