#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/placement/machine/model_on_devices.h"
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

struct CheckedPlacement {
  std::string from;
  Picoseconds simulated;  ///< receiving takes no device's time, while copying takes a core's
  Picoseconds measured;   ///< undisturbed_makespan of its runs
  double lost = 0;        ///< lost_share of the run that lost least
};

namespace placement {

/// How well simulated makespans tell measured ones.
struct Match {
  double spearman = 0;    ///< rank correlation (core/base/statistics.h)
  double mean_error = 0;  ///< mean of |simulated / measured - 1|
  double ratio = 0;       ///< median of measured / simulated
};

}  // namespace placement

struct RealityCheck {
  std::vector<CheckedPlacement> placements;
  int disturbed = 0;       ///< placements without an undisturbed run
  placement::Match match;  ///< of the others, or of all where two others are not there
};

/// Simulates and runs varied placements of a model on the devices of a topology.
/// `graph` is the model's with costs. Placements are run in turn, until each has five runs that
/// were undisturbed (undisturbed.h), but no more than 40 times and for two minutes or so.
/// InputError for one device.
RealityCheck check_reality(ModelOnDevices& model, const CostGraph& graph, const Topology& topology,
                           int placements, uint64_t seed);

}  // namespace reverie
