#pragma once

#include <cstdint>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// What a placement is judged by; the smaller the better.
enum class PlacementObjective : uint8_t { kMakespan, kPeakMemory };

/// Outcomes as one number.
class PlacementCost {
 public:
  PlacementCost(const Simulator& simulator, PlacementObjective objective);

  /// Makespan in picoseconds or peak memory in bytes. Where memory is exceeded, or a node cannot
  /// run where it is: more than any placement that fits can have, and the more the more bytes are
  /// missing and nodes misplaced.
  double of(const Outcome& outcome) const;
  PlacementObjective objective() const { return objective_; }

 private:
  PlacementObjective objective_;
  double bytes_;    ///< no placement needs more on all devices together
  double penalty_;  ///< in the unit of the objective: no placement has more
};

}  // namespace reverie
