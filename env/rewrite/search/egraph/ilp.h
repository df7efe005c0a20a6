#pragma once

#include <string>

#include "env/rewrite/search/egraph/extraction.h"

namespace reverie {

struct IlpResult {
  Selection selection;  ///< the best found, never dearer than the one given
  /// In the solver's own words: "optimal" where no selection among those allowed costs less, else
  /// how far the cost may be above the least one, "gap 1.20%" or "gap unknown".
  std::string status;
};

/// Extraction as an integer linear program, solved by CBC (COIN-OR) from `start`, which must have a
/// cost: a variable per node, and for each class that a chosen node reads one of the nodes that
/// compute it. No choice can be cyclic, since nodes are left out beforehand until none is
/// (allow_without_cycles): the optimum is that of what remains. Deterministic, on one thread,
/// unless cut short. `seconds`: limit of the solver's time.
IlpResult extract_by_ilp(const ExtractionProblem& problem, const Selection& start, double seconds,
                         const OutOfTime& out_of_time);

}  // namespace reverie
