#pragma once

#include <string>

#include "core/ir/graph.h"

namespace reverie {

/// The graph in the language of Graphviz: one box per input and per work node, labelled with
/// operator, fused activation and output type; one ellipse per output; edges in operand order.
/// Constants are counted in the label of their user. Equal structures give equal texts.
std::string to_dot(const Graph& graph);

}  // namespace reverie
