#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace reverie {

/// A graph without its opaque nodes and values without numbers: outputs of these nodes became graph
/// inputs, their inputs became graph outputs, under names that are equal for paired nodes of two
/// graphs. Graph inputs and outputs keep their names.
struct CutGraph {
  Graph graph;
  int opaque_nodes = 0;
  /// One line for every opaque node, for every graph input without numbers (a sequence, strings),
  /// and for every use of such a value which one it is; sorted. Two cut graphs fit when these are
  /// equal.
  std::vector<std::string> seams;
};

/// What a node does, whatever it does it to; equal ones are paired in topological order.
uint64_t kind_of(const Graph& graph, NodeId node);

/// Opaque nodes that no output depends on are left out. Nodes of the kinds in `others` are cut as
/// opaque ones are.
CutGraph cut_at_opaque(const Graph& graph, const std::set<uint64_t>& others = {});

}  // namespace reverie
