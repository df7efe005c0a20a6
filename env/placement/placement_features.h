#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/environment.h"
#include "env/placement/placement_visits.h"
#include "env/placement/simulator/ordered_placement.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// What of a graph and its devices shows in every observation. Node d is device d, of entity 0;
/// node devices + i is group i, of entity i + 1. Times are relative to the makespan of the best
/// device alone, bytes to those of the whole graph; log(x) is log2(1 + x).
///
/// Edges: tensors between groups, summed; between devices; from each group to its device. Where any
/// group may be moved, also from each device to its groups. Where groups come one after the other,
/// from each group to the one that follows, and from all devices to the one that comes next. A
/// group that is not yet placed has no device, but its edge goes to that of the start. So what an
/// action changes is the group, its neighbours in the graph, the next one, and the machine.
class PlacementFeatures {
 public:
  /// All must outlive it. `is_constructive`: groups come one after the other.
  PlacementFeatures(const Simulator& simulator, const PlacementEntities& entities,
                    const PlacementVisits& visits, bool is_constructive,
                    double reference_picoseconds);

  static std::vector<std::string> node_features(const Topology& topology, bool fuses);
  static const std::vector<std::string>& edge_features();
  /// Of a place for a group, and of the place where it would be fused: its time there, the share of
  /// its outputs that are read there, by bytes (groups not yet placed read at the start's device),
  /// and what PlacingSteps tells of the device when the groups visited before are as they are now.
  static const std::vector<std::string>& action_features();
  static std::vector<Target> targets();

  /// `types`: the spec's node types. The outcome and timeline are the state's.
  GraphFeatures graph(const std::vector<std::string>& types, const PlacementState& state,
                      const Outcome& outcome, const Timeline& timeline) const;
  /// [primary actions, entities + 1, action_features], 0 where the mask is.
  /// `fuse`: the number of that action; -1: there is none.
  std::vector<float> actions(const ActionMask& mask, const PlacementState& state, int fuse) const;
  /// The op that takes most of a group's time.
  const std::string& op(int entity) const { return ops_[static_cast<size_t>(entity)]; }

 private:
  struct Edge {
    int from, to;  ///< groups
    double bytes, time;
  };

  size_t cell(int entity, int device) const {
    return static_cast<size_t>(entity) * static_cast<size_t>(devices_) +
           static_cast<size_t>(device);
  }
  void add_edges();
  void add_paths();
  void write_devices(const PlacementState& state, GraphFeatures& graph) const;
  void write_groups(const std::vector<std::string>& types, const PlacementState& state,
                    const Timeline& timeline, GraphFeatures& graph) const;
  void write_edges(const PlacementState& state, GraphFeatures& graph) const;
  std::vector<double> work_by_device(const PlacementState& state) const;
  std::vector<double> bytes_by_device(const PlacementState& state) const;

  const Simulator& simulator_;
  const PlacementEntities& entities_;
  const PlacementVisits& visits_;
  bool is_constructive_;
  double reference_, all_bytes_ = 1;
  int devices_;
  std::vector<std::string> ops_;
  std::vector<double> times_;                                      ///< [groups, devices] relative
  std::vector<double> persistent_, output_bytes_, above_, below_;  ///< by group
  std::vector<Edge> edges_;                                        ///< by receiver, then sender
};

}  // namespace reverie
