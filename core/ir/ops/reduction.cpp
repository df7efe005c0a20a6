#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/ops/common.h"

namespace reverie::ops {
namespace {

OpSchema reduce(std::string name) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {optional("axes"), {.name = "keepdims", .fallback = int64_t{1}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    std::vector<int64_t> all(inputs[0].shape.size());
    std::iota(all.begin(), all.end(), 0);
    set_if_absent(attributes, "axes", std::move(all));
    normalize_axes_attribute(attributes, "axes", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_numeric(x);
    const std::vector<int64_t>& axes = node.attributes.integers("axes");
    const bool keep = node.attributes.integer("keepdims") != 0;
    Shape result;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (!reduced || keep) result.push_back(reduced ? 1 : x.shape[static_cast<size_t>(axis)]);
    }
    return Types{{x.dtype, std::move(result)}};
  };
  row.flops = one_flop_per_input;
  return row;
}

OpSchema softmax() {
  OpSchema row;
  row.name = "Softmax";
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {{.name = "axis", .fallback = int64_t{-1}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    require_floating(node.inputs[0]);
    normalize_axis(node.attributes.integer("axis"), node.inputs[0].rank());
    return Types{node.inputs[0]};
  };
  // Maximum, difference, exponential, sum, quotient.
  row.flops = [](const OpContext& node) { return 5 * node.outputs[0].elements(); };
  return row;
}

OpSchema batch_normalization() {
  OpSchema row;
  row.name = "BatchNormalization";
  row.min_inputs = row.max_inputs = 5;
  row.attributes = {{.name = "epsilon", .fallback = 1e-5}};
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_same_dtype(node);
    require_floating(x);
    if (x.rank() < 2) throw InputError("needs batch and channels, not rank {}", x.rank());
    for (const size_t i : {1, 2, 3, 4})
      require_shape(node.inputs[i], {x.shape[1]}, "a statistic per channel");
    return Types{x};
  };
  // Scale and shift, once the statistics are folded into them.
  row.flops = [](const OpContext& node) { return 2 * node.outputs[0].elements(); };
  return row;
}

OpSchema layer_normalization() {
  OpSchema row;
  row.name = "LayerNormalization";
  row.min_inputs = 2;
  row.max_inputs = 3;
  row.attributes = {{.name = "axis", .fallback = int64_t{-1}},
                    {.name = "epsilon", .fallback = 1e-5}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_same_dtype(node);
    require_floating(x);
    const int axis = normalize_axis(node.attributes.integer("axis"), x.rank());
    const Shape normalized(x.shape.begin() + axis, x.shape.end());
    require_broadcasts_to(node.inputs[1], normalized, "the scale");
    if (node.has_input(2)) require_broadcasts_to(node.inputs[2], normalized, "the bias");
    return Types{x};
  };
  // Mean (1), variance (3), normalisation (2), scale and shift (2).
  row.flops = [](const OpContext& node) { return 8 * node.outputs[0].elements(); };
  return row;
}

}  // namespace

std::vector<OpSchema> reduction() {
  return {reduce("ReduceMean"), reduce("ReduceSum"),   reduce("ReduceMax"),
          reduce("ReduceMin"),  softmax(),             batch_normalization(),
          layer_normalization()};
}

}  // namespace reverie::ops
