#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/exec/cpu/builder.h"
#include "core/ir/operator_column.h"

namespace reverie::cpu {
namespace {

using dnnl::algorithm;

struct Eltwise {
  algorithm kind;
  float alpha = 0;
  float beta = 0;
};

void add_eltwise(Builder& builder, const Eltwise& eltwise, const Slot& source, ValueId output) {
  const dnnl::eltwise_forward::primitive_desc chosen(
      {dnnl::prop_kind::forward_inference, eltwise.kind, source.desc, eltwise.alpha, eltwise.beta},
      engine());
  const Slot result = builder.fresh(chosen.dst_desc());
  builder.add(dnnl::eltwise_forward(chosen), {{DNNL_ARG_SRC, source}}, {{DNNL_ARG_DST, result}});
  builder.define(output, result);
}

/// What oneDNN calls the functions of one element.
const OperatorColumn<algorithm>& unary() {
  static const OperatorColumn<algorithm> column({
      {"Relu", algorithm::eltwise_relu},
      {"LeakyRelu", algorithm::eltwise_relu},
      {"Elu", algorithm::eltwise_elu},
      {"Sigmoid", algorithm::eltwise_logistic},
      {"Tanh", algorithm::eltwise_tanh},
      {"HardSwish", algorithm::eltwise_hardswish},
      {"Gelu", algorithm::eltwise_gelu_erf},
      {"Softplus", algorithm::eltwise_soft_relu},
      {"Clip", algorithm::eltwise_clip},
      {"Sqrt", algorithm::eltwise_sqrt},
      {"Exp", algorithm::eltwise_exp},
      {"Log", algorithm::eltwise_log},
      {"Neg", algorithm::eltwise_linear},
      {"Reciprocal", algorithm::eltwise_pow},
      {"Abs", algorithm::eltwise_abs},
  });
  return column;
}

const OperatorColumn<algorithm>& binary() {
  static const OperatorColumn<algorithm> column({
      {"Add", algorithm::binary_add},
      {"Sub", algorithm::binary_sub},
      {"Mul", algorithm::binary_mul},
      {"Div", algorithm::binary_div},
      {"Min", algorithm::binary_min},
      {"Max", algorithm::binary_max},
  });
  return column;
}

Eltwise eltwise_of(const OpSchema& op, const Attributes& attributes) {
  const auto number = [&](std::string_view name, double otherwise) {
    return static_cast<float>(attributes.number(name, otherwise));
  };
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  Eltwise eltwise{*unary().find(op)};
  if (op.is("LeakyRelu")) eltwise.alpha = number("alpha", 0.01);
  if (op.is("Elu")) eltwise.alpha = number("alpha", 1);
  if (op.is("Neg")) eltwise.alpha = -1;
  if (op.is("Gelu") && attributes.text("approximate") == "tanh")
    eltwise.kind = algorithm::eltwise_gelu_tanh;
  if (op.is("Clip"))
    eltwise = {eltwise.kind, number("min", -kUnbounded), number("max", kUnbounded)};
  if (op.is("Reciprocal")) eltwise = {eltwise.kind, 1, -1};
  return eltwise;
}

/// What has to follow when the operands of a binary operator change places.
void append_swap(dnnl::post_ops& ops, algorithm kind) {
  if (kind == algorithm::binary_sub) ops.append_eltwise(1, algorithm::eltwise_linear, -1, 0);
  if (kind == algorithm::binary_div) ops.append_eltwise(1, algorithm::eltwise_pow, 1, -1);
}

/// `value` with leading extents of one up to `rank`.
Slot broadcastable(Builder& builder, ValueId value, size_t rank) {
  Dims dims = builder.dims(value);
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return {builder.plain(value).buffer, dense(dims)};
}

bool lower_unary(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const Eltwise eltwise = eltwise_of(builder.graph().op(node), builder.graph().attributes(node));
  add_eltwise(builder, eltwise, builder.at(builder.graph().inputs(node)[0]),
              builder.graph().output(node));
  return true;
}

bool lower_binary(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId output = builder.graph().output(node);
  ValueId full = builder.graph().inputs(node)[0];
  ValueId other = builder.graph().inputs(node)[1];
  const Shape& shape = builder.type(output).shape;
  const algorithm kind = *binary().find(builder.graph().op(node));
  dnnl::post_ops ops;
  if (builder.type(full).shape != shape) {
    if (builder.type(other).shape != shape) return false;  // both are broadcast
    std::swap(full, other);
    append_swap(ops, kind);
  }
  const Slot first = builder.at(full);
  const Slot second = builder.type(other).shape == shape
                          ? builder.in_layout(other, first.desc)
                          : broadcastable(builder, other, builder.dims(output).size());
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  const dnnl::binary::primitive_desc chosen({kind, first.desc, second.desc, first.desc}, attr,
                                            engine());
  const Slot result = builder.fresh(first.desc);
  builder.add(dnnl::binary(chosen), {{DNNL_ARG_SRC_0, first}, {DNNL_ARG_SRC_1, second}},
              {{DNNL_ARG_DST, result}});
  builder.define(output, result);
  return true;
}

}  // namespace

Lowering find_elementwise(const OpSchema& op) {
  if (unary().find(op) != nullptr) return lower_unary;
  return binary().find(op) != nullptr ? lower_binary : nullptr;
}

bool lower_power(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const std::optional<double> exponent = builder.scalar(inputs[1]);
  if (!exponent || builder.type(inputs[0]).shape != builder.type(output).shape) return false;
  Eltwise power{algorithm::eltwise_pow, 1, static_cast<float>(*exponent)};
  if (*exponent == 2) power = {algorithm::eltwise_square};
  if (*exponent == 0.5) power = {algorithm::eltwise_sqrt};
  add_eltwise(builder, power, builder.at(inputs[0]), output);
  return true;
}

}  // namespace reverie::cpu
