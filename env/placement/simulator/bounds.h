#pragma once

#include "env/placement/graph/cost_graph.h"
#include "env/placement/graph/topology.h"

namespace reverie {

// No placement of a graph on devices is done before any of these. Transfers and
// memory are left out, and every node takes as long as on its fastest device.

/// The longest path.
Picoseconds critical_path(const CostGraph& graph, const Topology& topology);

/// All work, shared out evenly.
Picoseconds work_bound(const CostGraph& graph, const Topology& topology);

/// The smallest makespan in which no window of time must hold more work than
/// the devices can do in it (energetic reasoning: Erschler, Lopez and Thuriot
/// 1991). At least both others. Takes the cube of the number of nodes.
Picoseconds interval_bound(const CostGraph& graph, const Topology& topology);

/// The best of these that takes no more than some seconds: the interval bound of up to 300 nodes.
Picoseconds lower_bound(const CostGraph& graph, const Topology& topology);

/// No placement has a device that needs fewer bytes at its peak: weights shared out evenly, and
/// what a node must have beside it when it runs. `fused`: whatever nodes are fused.
int64_t memory_bound(const CostGraph& graph, const Topology& topology, bool fused);

}  // namespace reverie
