#include "core/base/error.h"
#include "core/ir/ops/common.h"

namespace reverie::ops {
namespace {

/// An operator that takes floating elements and gives as many.
OpSchema normalizer(std::string name, int inputs, std::vector<AttrSpec> attributes,
                    int64_t flops_per_element) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = inputs;
  row.attributes = std::move(attributes);
  row.flops = [flops_per_element](const OpContext& node) {
    return flops_per_element * node.outputs[0].elements();
  };
  return row;
}

/// Mean (1), variance (3), normalisation (2), scale and shift (2).
OpSchema instance_normalization() {
  OpSchema row =
      normalizer("InstanceNormalization", 3, {{.name = "epsilon", .fallback = 1e-5}}, 8);
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_same_dtype(node);
    require_floating(x);
    if (x.rank() < 3)
      throw InputError("needs batch, channels and an extent, not rank {}", x.rank());
    require_shape(node.inputs[1], {x.shape[1]}, "the scale");
    require_shape(node.inputs[2], {x.shape[1]}, "the bias");
    return Types{x};
  };
  return row;
}

/// Mean (1), variance (3), normalisation (2), scale and shift (2). Scale and bias have an element for each
/// group, as until opset 20, or for each channel, as later.
OpSchema group_normalization() {
  OpSchema row = normalizer("GroupNormalization", 3,
                            {required("num_groups"), {.name = "epsilon", .fallback = 1e-5}}, 8);
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_same_dtype(node);
    require_floating(x);
    if (x.rank() < 3)
      throw InputError("needs batch, channels and an extent, not rank {}", x.rank());
    const int64_t groups = node.attributes.integer("num_groups");
    if (groups < 1 || x.shape[1] % groups != 0)
      throw InputError("{} channels do not divide into {} groups", x.shape[1], groups);
    const bool by_group = node.inputs[1].shape == Shape{groups};
    require_shape(node.inputs[1], {by_group ? groups : x.shape[1]}, "the scale");
    require_shape(node.inputs[2], node.inputs[1].shape, "the bias");
    return Types{x};
  };
  return row;
}

/// Square, sum (2), scale, power (2), quotient.
OpSchema local_response_normalization() {
  OpSchema row = normalizer("LRN", 1,
                            {required("size"),
                             {.name = "alpha", .fallback = 1e-4},
                             {.name = "beta", .fallback = 0.75},
                             {.name = "bias", .fallback = 1.0}},
                            7);
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_floating(x);
    if (x.rank() < 2) throw InputError("needs batch and channels, not rank {}", x.rank());
    if (node.attributes.integer("size") < 1)
      throw InputError("cannot sum over {} channels", node.attributes.integer("size"));
    return Types{x};
  };
  return row;
}

/// Power, sum, quotient.
OpSchema lp_normalization() {
  OpSchema row = normalizer(
      "LpNormalization", 1,
      {{.name = "axis", .fallback = int64_t{-1}}, {.name = "p", .fallback = int64_t{2}}}, 3);
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_floating(x);
    normalize_axis(node.attributes.integer("axis"), x.rank());
    const int64_t p = node.attributes.integer("p");
    if (p != 1 && p != 2) throw InputError("p should be 1 or 2, not {}", p);
    return Types{x};
  };
  return row;
}

}  // namespace

std::vector<OpSchema> normalization() {
  return {instance_normalization(), local_response_normalization(), lp_normalization(),
          group_normalization()};
}

}  // namespace reverie::ops
