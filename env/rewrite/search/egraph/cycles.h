#pragma once

#include <cstdint>
#include <vector>

#include "env/rewrite/search/egraph/extraction.h"

namespace reverie {

/// Which nodes may be taken for which classes so that no choice among them is cyclic: by node and
/// entry of its `outputs`, 1 where it may. Everything that `selection`, which must have a cost,
/// takes for the classes it needs is among it, and something for every class that can be computed
/// at all. What else is allowed is as much as possible: nothing can be added without a cycle. What
/// lies on no cycle is always allowed.
std::vector<std::vector<uint8_t>> allow_without_cycles(const ExtractionProblem& problem,
                                                       const Selection& selection);

}  // namespace reverie
