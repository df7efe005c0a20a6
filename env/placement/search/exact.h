#pragma once

#include "core/base/random.h"
#include "env/placement/simulator/evaluator.h"

namespace reverie {

/// The largest graph that `exact` takes, in nodes.
inline constexpr int kMostNodesForExact = 64;

/// Branch and bound over all placements that keep colocation groups together, each with all orders
/// in which devices can run their nodes (Dispatch::kInOrder). Every run of the simulator, also with
/// Dispatch::kReady, has the schedule of one of these. So what is proved holds for all of them,
/// with the simulator's engines, buses and memory.
///
/// Entities (PlacementEntities) are put on devices in topological order; OrderSearch then looks at
/// the orders. A branch is left out where ScheduleBound and least_bytes say that it costs no less
/// than the best, or where another branch holds as good a placement:
///
/// - Of several equal devices without a node one is tried. With more than two devices, this needs
///   senders and buses that carry any number of tensors at a time: otherwise tensors are sent in
///   the order of the devices' numbers.
/// - A node does not run right before another one that can be done before it begins. This needs
///   engines, buses and memory without limits, and the makespan as objective.
///
/// It begins with list search and local search for at most a quarter of the budget. Each partial
/// placement that it looks at counts as an evaluation. It ends when no branch is left or the
/// evaluator is spent. Evaluator::proved is then the cost of the best, or the lowest bound of the
/// branches that are left. Where the evaluator fuses nodes, exact evaluates with fusion what is
/// best without, and proves nothing. InputError for a larger graph.
void exact(Evaluator& evaluator, Rng rng);

/// The same from the best that the evaluator holds, which there must be, without list search and
/// local search. The evaluator must not fuse.
void exact_from_best(Evaluator& evaluator);

}  // namespace reverie
