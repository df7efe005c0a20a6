#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/stop.h"
#include "env/placement/simulator.h"

namespace reverie {

struct PlaceOptions {
  double seconds = 10;  ///< for the searches; the heuristics before them take what they need
  uint64_t seed = 1;
  StopToken stop = {};
};

/// What a method came to.
struct PlacedBy {
  std::string method;
  Outcome outcome;
  double seconds = 0;
  int64_t evaluations = 0;  ///< runs of the simulator
};

struct PlaceResult {
  std::vector<PlacedBy> methods;
  size_t winner = 0;    ///< the shortest makespan of those that fit; else the fewest bytes over
  Placement placement;  ///< of the winner, to be run in order
  Timeline timeline;
  Picoseconds bound;  ///< no placement is shorter
};

/// The best device alone, m-TOPO, ETF (of up to 3,000 nodes), HEFT, local search from the best of
/// these, and simulated annealing, the last two with half of the time each. InputError as
/// Simulator.
PlaceResult place(const CostGraph& graph, const Topology& topology, const PlaceOptions& options);

/// Where and when each node runs: the format placement/1 of env/placement/README.md.
Json placement_json(const CostGraph& graph, const Topology& topology, const PlaceResult& result);

}  // namespace reverie
