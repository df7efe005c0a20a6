#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace reverie {

/// A graph without its opaque nodes: their outputs became graph inputs, their inputs became graph
/// outputs, under names that are equal for paired nodes of two graphs. Graph inputs and outputs
/// keep their names.
struct CutGraph {
  Graph graph;
  int opaque_nodes = 0;
  /// One line for every opaque node, and for every use of a value of unknown type which value it
  /// is; sorted. Two cut graphs fit when these are equal.
  std::vector<std::string> seams;
};

/// Opaque nodes that no output depends on are left out.
CutGraph cut_at_opaque(const Graph& graph);

}  // namespace reverie
