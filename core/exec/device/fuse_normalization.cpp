#include <algorithm>

#include "core/exec/device/builder.h"
#include "core/exec/device/fuse.h"
#include "core/exec/device/rebuild.h"

namespace reverie::device {
namespace {

bool is_sum_of_equals(const Graph& graph, NodeId node) {
  if (!node.valid() || !graph.op(node).is("Add")) return false;
  const TensorType& type = graph.type(graph.output(node));
  const auto inputs = graph.inputs(node);
  return is_device_float(type.dtype) && type.elements() > 0 && !type.shape.empty() &&
         std::ranges::all_of(inputs, [&](ValueId input) {
           return !graph.is_constant(input) && graph.type(input) == type;
         });
}

/// Along the last axis, with constant scales and shifts, one for each column.
bool is_of_rows(const Graph& graph, NodeId node) {
  if (!graph.op(node).is("LayerNormalization")) return false;
  const auto inputs = graph.inputs(node);
  const TensorType& type = graph.type(inputs[0]);
  return graph.attributes(node).integer("axis") + 1 == type.rank() &&
         std::all_of(inputs.begin() + 1, inputs.end(), [&](ValueId input) {
           return !input.valid() ||
                  (graph.is_constant(input) &&
                   graph.type(input) == TensorType{type.dtype, {type.shape.back()}});
         });
}

/// The normalization of a sum, by the number of the sum's node; the first where there are several.
std::vector<NodeId> normalizations(const Graph& graph) {
  std::vector<NodeId> of_sum(static_cast<size_t>(graph.node_capacity()));
  for (const NodeId node : graph.topological_order()) {
    if (!graph.is_work(node) || !is_of_rows(graph, node)) continue;
    const NodeId sum = graph.producer(graph.inputs(node)[0]);
    if (!is_sum_of_equals(graph, sum)) continue;
    NodeId& known = of_sum[static_cast<size_t>(sum.index)];
    if (!known.valid()) known = node;
  }
  return of_sum;
}

}  // namespace

Graph with_skip_normalization(const Graph& graph) {
  const std::vector<NodeId> of_sum = normalizations(graph);
  if (std::ranges::none_of(of_sum, [](NodeId node) { return node.valid(); })) return graph;
  return rebuilt(graph, [&](NodeId node, Rebuilding& rebuilding) {
    const NodeId normalization = of_sum[static_cast<size_t>(node.index)];
    if (!normalization.valid()) return false;
    const auto given = graph.inputs(normalization);
    std::vector<ValueId> inputs = {graph.inputs(node)[0], graph.inputs(node)[1]};
    inputs.insert(inputs.end(), given.begin() + 1, given.end());
    const NodeId fused =
        rebuilding.add(op_named("SkipLayerNormalization"), inputs,
                       {{"epsilon", graph.attributes(normalization).number("epsilon")}});
    rebuilding.at(graph.output(normalization)) = rebuilding.to().outputs(fused)[0];
    rebuilding.at(graph.output(node)) = rebuilding.to().outputs(fused)[1];
    return true;
  });
}

}  // namespace reverie::device
