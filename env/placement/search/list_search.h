#pragma once

#include "core/base/random.h"
#include "env/placement/simulator/evaluator.h"

namespace reverie {

/// A search over what list scheduling goes by: an order of the nodes and, for some entities, a
/// fixed device. Each node in turn goes to its entity's device, or where it ends first in the plan;
/// the schedule is then evaluated. A step moves a node within the order, or fixes or frees an
/// entity, or several of these at once, and is taken where it costs nothing. Where devices have a
/// limit, the share of memory that is kept for what is not persistent changes too.
///
/// It begins with the cheapest of one device alone and HEFT's order, planned with free and with
/// queued transfers (Plan::Transfers), and ends when a share `until` of the evaluator's budget,
/// which must have a limit, is used. The evaluator holds the best.
void list_search(Evaluator& evaluator, double until, Rng rng);

/// The same over the kernels of the evaluator's best placement, which stay as they are. It must
/// have kernels. The cheapest placement of them is evaluated at the end.
void list_kernels(Evaluator& evaluator, double until, Rng rng);

}  // namespace reverie
