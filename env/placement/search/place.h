#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "env/placement/graph/model_graph.h"
#include "env/placement/search/methods.h"
#include "env/placement/simulator/fusion.h"

namespace reverie {

/// What a method came to.
struct PlacedBy {
  std::string method;
  Outcome outcome;
  double seconds = 0;
  int64_t evaluations = 0;  ///< placements that were judged
};

struct PlaceOptions {
  EvaluationBudget budget;
  uint64_t seed = 1;
  PlacementObjective objective = PlacementObjective::kMakespan;
  /// Placements are judged with operators fused, those with the longest path behind them first
  /// where a method says nothing of fusion.
  bool fuse = false;
  /// Judges makespans in the simulator's place. Those of PlacedBy are measured anew in the end, so
  /// that luck chooses, but does not count: medians of nine rounds, in each of which all are run.
  MeasureSchedule measure = {};
};

struct PlaceResult {
  std::vector<PlacedBy> methods;
  size_t winner = 0;  ///< the first of the cheapest; where nothing fits, of the fewest bytes over
  std::optional<FusedGraph> fused;             ///< what the winner runs, where operators are fused
  std::vector<std::vector<std::string>> held;  ///< by fused node: names of those that it holds
  std::vector<FoldedNode> folded;              ///< of the model that was placed, for placement_json
  Placement placement;                         ///< of the winner, of what it runs, in order
  Timeline timeline;
  /// No placement that fits and keeps groups together is shorter, whatever it fuses: the lower
  /// bound (simulator/bounds.h), or what a method has proved. Measured makespans may be.
  Picoseconds bound;
  int64_t bytes_bound = 0;  ///< no placement has a device with a lower peak of memory (bounds.h)
  bool measured = false;  ///< the makespans are (PlaceOptions::measure); the timeline is simulated

  /// What the placement is of: the fused graph, or this one.
  const CostGraph& placed(const CostGraph& graph) const { return fused ? fused->graph : graph; }
};

/// Runs methods one after the other. Those that search share the budget's seconds; each has all of
/// its evaluations. InputError as Simulator, where costs cannot be fused (fusion.h), and
/// for a method that cannot judge by runs where `measure` is given.
PlaceResult place(const CostGraph& graph, const Topology& topology,
                  std::span<const PlaceMethod> methods, const PlaceOptions& options);

/// Has a result show a placement that runs in order, fused as it says: `fused`, `placement` and
/// `timeline`. Returns its outcome.
Outcome show(const CostGraph& graph, const Topology& topology, const Placement& placement,
             PlaceResult& result);

/// Where and when each node of a graph that was placed (PlaceResult::placed) runs: the format
/// placement/1 of env/placement/README.md.
Json placement_json(const CostGraph& graph, const Topology& topology, const PlaceResult& result);

/// The device of each node of the model or graph that was placed, by name. What is no node of its
/// own is where its value is made or used.
std::map<std::string, std::string> devices_of(const CostGraph& graph, const Topology& topology,
                                              const PlaceResult& result);

/// What no device can hold, or no device of its kind can run, as a sentence; empty where the result
/// fits.
std::string why_infeasible(const PlaceResult& result);

}  // namespace reverie
