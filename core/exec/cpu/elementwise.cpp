#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/exec/cpu/builder.h"

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

std::optional<Eltwise> eltwise_of(const OpSchema& op, const Attributes& attributes) {
  const auto number = [&](std::string_view name, double otherwise) {
    return static_cast<float>(attributes.number(name, otherwise));
  };
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  if (op.is("Relu")) return Eltwise{algorithm::eltwise_relu};
  if (op.is("LeakyRelu")) return Eltwise{algorithm::eltwise_relu, number("alpha", 0.01)};
  if (op.is("Elu")) return Eltwise{algorithm::eltwise_elu, number("alpha", 1)};
  if (op.is("Sigmoid")) return Eltwise{algorithm::eltwise_logistic};
  if (op.is("Tanh")) return Eltwise{algorithm::eltwise_tanh};
  if (op.is("HardSwish")) return Eltwise{algorithm::eltwise_hardswish};
  if (op.is("Softplus")) return Eltwise{algorithm::eltwise_soft_relu};
  if (op.is("Clip"))
    return Eltwise{algorithm::eltwise_clip, number("min", -kUnbounded), number("max", kUnbounded)};
  if (op.is("Sqrt")) return Eltwise{algorithm::eltwise_sqrt};
  if (op.is("Exp")) return Eltwise{algorithm::eltwise_exp};
  if (op.is("Log")) return Eltwise{algorithm::eltwise_log};
  if (op.is("Neg")) return Eltwise{algorithm::eltwise_linear, -1};
  if (op.is("Reciprocal")) return Eltwise{algorithm::eltwise_pow, 1, -1};
  if (op.is("Abs")) return Eltwise{algorithm::eltwise_abs};
  return std::nullopt;
}

algorithm binary_of(const OpSchema& op) {
  if (op.is("Add")) return algorithm::binary_add;
  if (op.is("Sub")) return algorithm::binary_sub;
  if (op.is("Mul")) return algorithm::binary_mul;
  if (op.is("Div")) return algorithm::binary_div;
  if (op.is("Min")) return algorithm::binary_min;
  return algorithm::binary_max;
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

}  // namespace

bool lower_unary(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto eltwise = eltwise_of(builder.graph().op(node), builder.graph().attributes(node));
  if (!eltwise) return false;
  add_eltwise(builder, *eltwise, builder.at(builder.graph().inputs(node)[0]),
              builder.graph().output(node));
  return true;
}

bool lower_binary(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId output = builder.graph().output(node);
  ValueId full = builder.graph().inputs(node)[0];
  ValueId other = builder.graph().inputs(node)[1];
  const Shape& shape = builder.type(output).shape;
  const algorithm kind = binary_of(builder.graph().op(node));
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
