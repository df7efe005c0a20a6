#pragma once

#include "core/ir/graph.h"

namespace reverie {

/// A node that computes something: neither a graph input nor a stored constant.
bool is_operation(const Graph& graph, NodeId node);

/// The graph in the operators that ONNX has: biases, residuals and activations that Conv, MatMul
/// and Gemm carry become nodes, Identity, Dropout and Shape vanish, and what is computed from
/// constants alone becomes a stored constant (core/onnx/fold_constants.h), unless `fold` is false,
/// or it is a large stored constant with its elements moved, and that one stays, too. Equal
/// constants are one node; numbers among the attributes are rounded to what a file holds. Applying
/// it twice changes nothing.
Graph lower(const Graph& graph, bool fold = true);

/// How many nodes a Conv, MatMul or Gemm of the table carries beyond ONNX's: terms that it adds,
/// then an activation. Of other nodes 0.
size_t carried_nodes(const Graph& graph, NodeId node);

/// A Conv, MatMul or Gemm of the table in the words of ONNX: Conv(x, w, b) and Gemm(a, b, c) stay,
/// what goes beyond them becomes nodes, whose ids follow that of the product.
struct SpelledProduct {
  NodeId product;
  ValueId value;  ///< of the whole
};
SpelledProduct spell_product(Graph& graph, const OpSchema& op, std::span<const ValueId> inputs,
                             Attributes attributes);

}  // namespace reverie
