#include <algorithm>

#include "core/exec/device/builder.h"

namespace reverie::device {
namespace {

Reduce reduce_of(const OpSchema& op) {
  if (op.is("ReduceMean")) return Reduce::kMean;
  if (op.is("ReduceSum")) return Reduce::kSum;
  return op.is("ReduceMax") ? Reduce::kMax : Reduce::kMin;
}

}  // namespace

bool lower_reduction(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const TensorType type = builder.type(input);
  const Strides strides = row_major(type.shape);
  const std::vector<int64_t>& axes = builder.graph().attributes(node).integers("axes");
  Reduction call{.dtype = type.dtype,
                 .kind = reduce_of(builder.graph().op(node)),
                 .kept = {},
                 .reduced = {},
                 .kept_strides = {},
                 .reduced_strides = {}};
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const bool goes = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
    (goes ? call.reduced : call.kept).push_back(type.shape[axis]);
    (goes ? call.reduced_strides : call.kept_strides).push_back(strides[axis]);
  }
  join_axes(call.kept, {&call.kept_strides});
  join_axes(call.reduced, {&call.reduced_strides});
  if (std::max(call.kept.size(), call.reduced.size()) > static_cast<size_t>(kMaxAxes)) return false;
  return builder.add(call, {builder.at(input)}, {builder.define(builder.graph().output(node))});
}

bool lower_softmax(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const TensorType type = builder.type(input);
  const auto at = type.shape.begin() + builder.graph().attributes(node).integer("axis");
  const Softmax call{.dtype = type.dtype,
                     .outer = element_count({type.shape.begin(), at}),
                     .extent = *at,
                     .inner = element_count({at + 1, type.shape.end()})};
  return builder.add(call, {builder.at(input)}, {builder.define(builder.graph().output(node))});
}

bool lower_layer_normalization(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const TensorType type = builder.type(inputs[0]);
  const auto axis = type.shape.begin() + attributes.integer("axis");
  const LayerNormalization call{.dtype = type.dtype,
                                .rows = element_count({type.shape.begin(), axis}),
                                .width = element_count({axis, type.shape.end()}),
                                .epsilon = attributes.number("epsilon"),
                                .has_shift = inputs.size() > 2 && inputs[2].valid()};
  std::vector<BufferId> reads = {builder.at(inputs[0])};
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!inputs[i].valid()) continue;
    if (builder.type(inputs[i]).elements() != call.width) return false;
    reads.push_back(builder.at(inputs[i]));
  }
  return builder.add(call, std::move(reads), {builder.define(builder.graph().output(node))});
}

bool lower_skip_layer_normalization(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const auto outputs = builder.graph().outputs(node);
  const TensorType type = builder.type(inputs[0]);
  const auto has = [&](size_t input) { return input < inputs.size() && inputs[input].valid(); };
  if (builder.type(inputs[1]).shape != type.shape) return false;
  const bool is_sum_used =
      !builder.graph().users(outputs[1]).empty() || builder.graph().is_output(outputs[1]);
  const LayerNormalization call{.dtype = type.dtype,
                                .rows = type.elements() / type.shape.back(),
                                .width = type.shape.back(),
                                .epsilon = builder.graph().attributes(node).number("epsilon"),
                                .has_shift = has(3),
                                .has_residual = true,
                                .has_bias = has(4),
                                .writes_sum = is_sum_used};
  std::vector<BufferId> reads = {builder.at(inputs[0]), builder.at(inputs[2])};
  for (const size_t input : {3, 1, 4})
    if (has(input)) reads.push_back(builder.at(inputs[input]));
  std::vector<BufferId> writes = {builder.define(outputs[0])};
  if (is_sum_used) writes.push_back(builder.define(outputs[1]));
  return builder.add(call, std::move(reads), std::move(writes));
}

}  // namespace reverie::device
