#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

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
  OpSchema row = normalizer("InstanceNormalization", 3, {{.name = "epsilon", .fallback = 1e-5}}, 8);
  row.range = range::normalized;
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

/// Mean (1), variance (3), normalisation (2), scale and shift (2). Scale and bias have an element
/// for each group, as until opset 20, or for each channel, as later.
OpSchema group_normalization() {
  OpSchema row = normalizer("GroupNormalization", 3,
                            {required("num_groups"), {.name = "epsilon", .fallback = 1e-5}}, 8);
  row.range = range::normalized;
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

/// An operator over the axes from `axis` on.
OpSchema over_last_axes(std::string name, int inputs, int64_t flops_per_element) {
  OpSchema row =
      normalizer(std::move(name), inputs,
                 {{.name = "axis", .fallback = int64_t{-1}}, {.name = "epsilon", .fallback = 1e-5}},
                 flops_per_element);
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  return row;
}

/// Mean of squares (2), quotient, scale.
OpSchema rms_normalization() {
  OpSchema row = over_last_axes("RMSNormalization", 2, 4);
  row.range = range::normalized;
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_same_dtype(node);
    require_floating(x);
    const int axis = normalize_axis(node.attributes.integer("axis"), x.rank());
    require_broadcasts_to(node.inputs[1], Shape(x.shape.begin() + axis, x.shape.end()),
                          "the scale");
    return Types{x};
  };
  return row;
}

/// ONNX Runtime's (input, skip, scale, then as many optional vectors): the sum of input, skip and
/// the last of the vectors, normalised along the last axis, and the sum itself.
OpSchema skip_normalization(std::string name, int inputs, int64_t flops_per_element) {
  OpSchema row = normalizer(std::move(name), inputs, {{.name = "epsilon", .fallback = 1e-12}},
                            flops_per_element);
  row.min_inputs = 3;
  row.min_outputs = row.max_outputs = 2;
  row.range = range::normalized;
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_same_dtype(node);
    require_floating(x);
    if (x.rank() < 1) throw InputError("cannot normalise a scalar");
    require_broadcasts_to(node.inputs[1], x.shape, "the skip");
    for (size_t i = 2; i < node.inputs.size(); ++i)
      if (node.has_input(i)) require_shape(node.inputs[i], {x.shape.back()}, "a scale or bias");
    return Types{x, x};
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
  row.range = range::finite;
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

/// Power, sum, quotient. Zeros stay zeros, and what is next to them gets the length 1.
OpSchema lp_normalization() {
  OpSchema row = stepping(normalizer(
      "LpNormalization", 1,
      {{.name = "axis", .fallback = int64_t{-1}}, {.name = "p", .fallback = int64_t{2}}}, 3));
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

std::vector<OpSchema> further_normalization() {
  // As RMSNormalization and LayerNormalization have, and two sums.
  return {rms_normalization(), skip_normalization("SkipLayerNormalization", 5, 10),
          skip_normalization("SkipSimplifiedLayerNormalization", 4, 6)};
}

}  // namespace reverie::ops
