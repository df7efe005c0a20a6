#pragma once

#include "core/ir/graph.h"

namespace reverie {

/// The graph in the operators that ONNX has: biases, residuals and activations that Conv, MatMul and
/// Gemm carry become nodes, Identity, Dropout and Shape vanish, and what is computed from constants
/// alone becomes a stored constant, computed in double precision (a fill where all its large
/// operands are fills and all its elements are equal). Equal constants are one node; numbers among
/// the attributes are rounded to what a file holds. Applying it twice changes nothing.
Graph lower(const Graph& graph);

}  // namespace reverie
