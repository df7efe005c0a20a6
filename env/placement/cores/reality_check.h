#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/statistics.h"
#include "env/placement/cores/model_on_cores.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

struct DrawnPlacement {
  std::string from;     ///< how it came about: a method's name, or a way to draw
  Placement placement;  ///< to be run in order
};

/// Distinct placements of good and bad quality: each device alone, those of heuristics and of local
/// search, then drawn ones: operators on random devices, in random shares; stretches of the order
/// on random devices; and local search's placement after random moves. Fewer than `count` where
/// the graph has not that many or they are hard to find.
std::vector<DrawnPlacement> varied_placements(Simulator& simulator, int count, uint64_t seed);

/// A placement in which copying is work of the core that reads: of each tensor that comes from
/// another device there is a node "Copy" right before its first reader on a device. It takes the
/// bytes through the link's bandwidth; a link's latency passes before it can begin.
struct PlacedCopies {
  CostGraph graph;
  Topology topology;    ///< links without limit
  Placement placement;  ///< in order
};
PlacedCopies with_copies(const Simulator& simulator, const Placement& placement,
                         const Timeline& timeline);

struct CheckedPlacement {
  std::string from;
  Picoseconds simulated;    ///< as Simulator has it: receiving takes no device's time
  Picoseconds with_copies;  ///< as with_copies has it
  MedianInterval measured;  ///< seconds
};

/// How well simulated makespans tell measured ones.
struct Match {
  double spearman = 0;    ///< rank correlation (core/base/statistics.h)
  double mean_error = 0;  ///< mean of |simulated / measured - 1|
  double ratio = 0;       ///< median of measured / simulated
};

struct RealityCheck {
  std::vector<CheckedPlacement> placements;
  Match simulated, with_copies;
};

/// Simulates and runs varied placements of a model on the devices of measured_core_topology.
/// `graph` is the model's with costs. Placements are run in turn, in several rounds, so that what
/// else the machine does meets all of them alike. InputError for one core.
RealityCheck check_reality(ModelOnCores& model, const CostGraph& graph, const Topology& topology,
                           int placements, uint64_t seed);

}  // namespace reverie
