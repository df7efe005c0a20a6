#include "core/onnx/spell_out.h"

#include <numeric>
#include <optional>
#include <utility>

#include "core/onnx/lower.h"
#include "core/onnx/write_node.h"

namespace reverie::proto {
namespace {

ValueId scalar(Graph& graph, double value, DType dtype) {
  return graph.add_constant(Weight::dense(Tensor::of<double>({}, {value}).cast(dtype)));
}

/// ONNX operator specification, LayerNormalization.
ValueId layer_normalization(Graph& graph, NodeId node) {
  const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end());
  const TensorType type = graph.type(inputs[0]);
  const double epsilon = graph.attributes(node).number("epsilon");
  const int64_t axis = graph.attributes(node).integer("axis");
  std::vector<int64_t> axes(static_cast<size_t>(type.rank() - axis));
  std::iota(axes.begin(), axes.end(), axis);
  const Attributes over = {{"axes", axes}, {"keepdims", int64_t{1}}};
  const ValueId mean = graph.add("ReduceMean", {inputs[0]}, over);
  const ValueId centred = graph.add("Sub", {inputs[0], mean});
  const ValueId square = graph.add("Mul", {centred, centred});
  const ValueId variance = graph.add("ReduceMean", {square}, over);
  const ValueId shifted = graph.add("Add", {variance, scalar(graph, epsilon, type.dtype)});
  const ValueId normal = graph.add("Div", {centred, graph.add("Sqrt", {shifted})});
  const ValueId scaled = graph.add("Mul", {normal, inputs[1]});
  return inputs.size() > 2 ? graph.add("Add", {scaled, inputs[2]}) : scaled;
}

/// x HardSigmoid(x) with alpha = 1/6, beta = 0.5 (ONNX operator specification, HardSwish).
ValueId hard_swish(Graph& graph, NodeId node) {
  const ValueId x = graph.inputs(node)[0];
  const Attributes slope = {{"alpha", decimal(1.0F / 6)}, {"beta", 0.5}};
  return graph.add("Mul", {x, graph.add("HardSigmoid", {x}, slope)});
}

/// And LogSoftmax: along the last axis, which every opset has.
ValueId softmax(Graph& graph, NodeId node) {
  const ValueId x = graph.inputs(node)[0];
  const int64_t axis = graph.attributes(node).integer("axis");
  const int64_t last = graph.type(x).rank() - 1;
  std::vector<int64_t> perm(static_cast<size_t>(last + 1));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  const ValueId turned = graph.add("Transpose", {x}, {{"perm", perm}});
  const ValueId result = graph.add(graph.op(node).name, {turned}, {{"axis", last}});
  return graph.add("Transpose", {result}, {{"perm", perm}});
}

ValueId gemm_with_term(Graph& graph, NodeId node) {
  const ValueId a = graph.inputs(node)[0];
  const ValueId b = graph.inputs(node)[1];
  const Attributes attributes = graph.attributes(node);
  return graph.add("Gemm", {a, b, scalar(graph, 0, graph.type(a).dtype)}, attributes);
}

constexpr int kGemmWithoutTermSince = 11;

std::optional<ValueId> in_older_words(Graph& graph, NodeId node, int opset) {
  const OpSchema& op = graph.op(node);
  if (op.is("LayerNormalization")) return layer_normalization(graph, node);
  if (op.is("HardSwish")) return hard_swish(graph, node);
  if (op.is("Softmax") || op.is("LogSoftmax")) return softmax(graph, node);
  if (op.is("Gemm") && graph.inputs(node).size() == 2 && opset < kGemmWithoutTermSince)
    return gemm_with_term(graph, node);
  return std::nullopt;
}

}  // namespace

bool replace_newer(Graph& graph, const Language& language) {
  bool replaced = false;
  for (const NodeId node : graph.nodes()) {
    const bool stays = !is_operation(graph, node) || &graph.op(node) == &opaque_op() ||
                       can_write(graph, node, language);
    if (stays) continue;
    const std::optional<ValueId> value = in_older_words(graph, node, language.opset);
    if (!value) continue;
    graph.replace_all_uses(graph.output(node), *value);
    graph.erase_if_dead(node);
    replaced = true;
  }
  return replaced;
}

Graph spell_out(Graph graph, const OpsetRange& range, bool fold) {
  if (find_common_language(graph, range)) return graph;
  replace_newer(graph, {range.newest, range.most});
  return lower(graph, fold);
}

}  // namespace reverie::proto
