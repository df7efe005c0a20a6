#pragma once

#include <vector>

#include "env/placement/graph/cost_graph.h"

namespace reverie {

// What nodes of a graph with CostParts cost as one kernel (fusion.h). `nodes` ascend.

/// Whether it takes time on any kind.
bool starts_kernel(const CostGraph& graph, int node);
int64_t moved_bytes(const CostGraph& graph, const std::vector<int>& nodes);
Picoseconds arithmetic_time(const CostGraph& graph, int node, int kind);
Picoseconds arithmetic_time(const CostGraph& graph, const std::vector<int>& nodes, int kind);
/// Of one node its own cost.
Picoseconds kernel_time(const CostGraph& graph, const std::vector<int>& nodes, int kind);
/// Whether the arithmetic of a node takes longer than its memory.
bool is_bound_by_arithmetic(const CostGraph& graph, int node, int kind);
/// What a node takes for bytes that it moves in any kernel: those that are of no tensor.
Picoseconds weight_time(const CostGraph& graph, int node, int kind);
/// InputError for a graph without parts.
void require_parts(const CostGraph& graph);

}  // namespace reverie
