#pragma once

#include "core/base/random.h"
#include "env/placement/simulator/evaluator.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {

/// Changes a placement a little, from `start` on, until the evaluator is spent, so that this must
/// have a limit; it holds the best. Iterated local search (Lourenco, Martin and Stutzle 2003):
/// takes moves in random order where they cost nothing. Where a whole round gains nothing it goes
/// back to the cheapest placement, takes some moves at random, and begins again.
void local_search(Evaluator& evaluator, const Placement& start, Rng rng);

}  // namespace reverie
