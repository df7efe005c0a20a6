#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "env/placement/search/methods.h"
#include "env/placement/simulator/fusion.h"

namespace reverie {

/// What a method came to.
struct PlacedBy {
  std::string method;
  Outcome outcome;
  double seconds = 0;
  int64_t evaluations = 0;  ///< runs of the simulator
};

struct PlaceResult {
  std::vector<PlacedBy> methods;
  size_t winner = 0;    ///< the first of the cheapest; where nothing fits, of the fewest bytes over
  Placement placement;  ///< of the winner, to be run in order
  Timeline timeline;
  Picoseconds bound;  ///< no placement is shorter
};

/// Runs methods one after the other. Those that search share the budget's seconds; each has all of
/// its evaluations. InputError as Simulator.
PlaceResult place(const CostGraph& graph, const Topology& topology,
                  std::span<const PlaceMethod> methods, const EvaluationBudget& budget,
                  uint64_t seed, PlacementObjective objective = PlacementObjective::kMakespan);

/// Fuses nodes of the winner's devices greedily, those with the longest path behind them first, and
/// places the fused graph anew. InputError where its costs cannot be fused
/// (env/placement/fusion.h).
struct FusedPlace {
  FusedGraph fused;
  PlaceResult result;  ///< of the fused graph
};
FusedPlace place_fused(const CostGraph& graph, const Topology& topology, const PlaceResult& placed,
                       std::span<const PlaceMethod> methods, const EvaluationBudget& budget,
                       uint64_t seed, PlacementObjective objective);

/// Those that `reverie place` tries for a graph: heuristics that end in a second or so, local
/// search and annealing.
std::vector<PlaceMethod> usual_methods(const CostGraph& graph);

/// Where and when each node runs: the format placement/1 of env/placement/README.md.
Json placement_json(const CostGraph& graph, const Topology& topology, const PlaceResult& result);

}  // namespace reverie
