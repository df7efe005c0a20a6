#pragma once

#include <span>
#include <string_view>

#include "core/ir/graph.h"

namespace reverie {

/// The program of a Pointwise node as a graph, over inputs of these types at their first samples. A
/// program has statements of a graph's text (core/ir/text.h) with ';' between them, such as
/// "t0 = Mul(x0, x1); y = Sigmoid(t0)": x0, x1, ... are the node's inputs, y its output, and each
/// statement is an elementwise operator with one result. The graph has inputs x0, x1, ... in order
/// and the output y. InputError where that is no such program.
Graph pointwise_graph(std::string_view program, std::span<const TensorType> inputs);

}  // namespace reverie
