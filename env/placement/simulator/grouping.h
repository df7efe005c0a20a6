#pragma once

#include "env/placement/graph/cost_graph.h"

namespace reverie {

/// The same graph with at most `most` colocation groups and free nodes together, for whoever
/// decides for each of them. Groups that there are stay whole. While there are too many, a group
/// whose outputs go to one other group alone joins it, the pairs of least work first (ColocRL:
/// Mirhoseini et al. 2017, section 3.1). Where that is not enough, so does a group whose outputs go
/// to several; and where none has an edge left, groups that follow each other in topological order
/// become one, so that all hold about equal work. Groups that can run on different kinds of devices
/// are not joined, and then more than so many may remain. `most`: at least 1.
CostGraph grouped(const CostGraph& graph, int most);

/// A graph with the groups of `grouped(by, most)`. `by` is the same graph with other costs: groups
/// must not change from one measurement of costs to the next.
CostGraph grouped_by(const CostGraph& by, const CostGraph& graph, int most);

}  // namespace reverie
