#pragma once

#include "core/ir/graph.h"

namespace reverie {

/// The graph as a device runs it: nodes that one kernel computes become one node of a row for that
/// (OpSchema::fused). What it computes is the same; results within such a node are not rounded to
/// their element type. Deterministic, in time linear in the graph's size. The same graph, ids and
/// all, where nothing is fused.
Graph fused(const Graph& graph);

namespace device {

/// A pattern of `fused`, in a file of its own: the graph with all that it finds fused. The same
/// graph where it finds nothing.
using Pattern = Graph (*)(const Graph& graph);

/// Attention that is spelled out becomes a FusedAttention node: the product of a softmax along its
/// last axis with v, where the softmax is of a product q k, perhaps times a constant number, and of
/// a mask. Transpositions of q, k, v and the result become part of it. Nothing else uses what is
/// between. At most kMostHeadColumns columns in q and v.
Graph with_attention(const Graph& graph);

/// A LayerNormalization along the last axis of a sum of two tensors of its shape becomes a
/// SkipLayerNormalization, which gives the sum as well.
Graph with_skip_normalization(const Graph& graph);

/// Chains and trees of operators that compute every element by itself become Pointwise nodes:
/// floating ones of one type and shape, whose results nothing outside of the tree uses. A
/// BatchNormalization by constants is one of them, as a product and a sum. What is broadcast to a
/// tree is an input of it, of which there are at most kMaxPointwiseOperands; a tree has at most
/// kMaxInstructions.
Graph with_pointwise(const Graph& graph);

}  // namespace device
}  // namespace reverie
