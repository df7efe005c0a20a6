#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/search/algorithms.h"
#include "env/placement/simulator/evaluator.h"

namespace reverie {

/// A way to look for a placement: it has placements evaluated until the evaluator is spent or it
/// has nothing more to try. Equal seeds give equal placements under a budget of evaluations.
struct PlaceMethod {
  std::string name;  ///< on the command line
  std::string what;  ///< it does, in a few words
  std::function<void(Evaluator&, uint64_t seed)> run;
  bool searches = true;  ///< it goes on while there is budget; false: it needs a few evaluations
  int most_nodes = std::numeric_limits<int>::max();  ///< of a graph; above that it takes too long
  bool measures = true;  ///< it can also judge by runs on real devices (Evaluator::measure_by)

  bool suits(const CostGraph& graph) const { return graph.size() <= most_nodes; }
};

/// A search over a PlacementProblem, from the best device on, as long as the evaluator is not
/// spent.
PlaceMethod search_method(std::string name, std::string what, Search search);

/// InputError that lists the names where there is none of this name.
const PlaceMethod& place_method(std::span<const PlaceMethod> methods, const std::string& name);

}  // namespace reverie
