#pragma once

#include <cstdint>
#include <vector>

#include "env/placement/search/placing_steps.h"
#include "env/placement/simulator/ordered_placement.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// A placement in the making, by entity of PlacementEntities.
struct PlacementState {
  std::vector<int> device;      ///< each; of those not yet placed that of the start
  std::vector<int> level;       ///< from -3 to 3: entities of a higher one run first
  int placed = 0;               ///< so many, in the order of PlacementVisits; improving form: all
  std::vector<int> fused = {};  ///< 1: with what reads from it; empty where nothing can be

  bool operator==(const PlacementState&) const = default;
};

/// What can be told of a placement in the making without a run.
struct PlannedPlacement {
  Timeline timeline;  ///< a list schedule of the nodes that can be scheduled (PlacingSteps)
  Outcome outcome;    ///< of these, with persistent bytes alone
  /// Behind it each device runs what else was placed there. Then all that was not placed runs, one
  /// after the other, where the start has it.
  Picoseconds at_least;
};

/// The order in which constructive form places groups: by first nodes, in topological order, of
/// which those come first that have most nodes in a row behind them.
class PlacementVisits {
 public:
  /// Both must outlive it.
  PlacementVisits(const Simulator& simulator, const PlacementEntities& entities);

  /// The group that comes as the n-th, and as which a group comes.
  int group(int n) const { return groups_[static_cast<size_t>(n)]; }
  int place(int group) const { return places_[static_cast<size_t>(group)]; }
  bool is_placed(const PlacementState& state, int group) const {
    return place(group) < state.placed;
  }
  /// With the first `groups` groups where the state has them.
  PlacingSteps steps(const PlacementState& state, int groups) const;
  PlannedPlacement plan(const PlacementState& state) const;

 private:
  const Simulator& simulator_;
  const PlacementEntities& entities_;
  PlacingOrder order_;
  std::vector<int> groups_, places_;
};

}  // namespace reverie
