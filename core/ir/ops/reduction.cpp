#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

OpSchema reduce(std::string name, range::Rule values) {
  OpSchema row;
  row.name = std::move(name);
  row.range = values;
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

/// What is computed in floating point whatever goes in.
OpSchema reduce_floats(std::string name, range::Rule values) {
  OpSchema row = reduce(std::move(name), values);
  row.infer = [infer = row.infer](const OpContext& node) {
    require_floating(node.inputs[0]);
    return infer(node);
  };
  return row;
}

OpSchema softmax(std::string name, range::Rule values) {
  OpSchema row;
  row.name = std::move(name);
  row.range = values;
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
  row.range = range::finite;
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
  row.range = range::normalized;
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

/// The place of the greatest or least element along an axis.
OpSchema place_of_extreme(std::string name) {
  OpSchema row;
  row.name = std::move(name);
  row.steps = takes_floats;
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {{.name = "axis", .fallback = int64_t{0}},
                    {.name = "keepdims", .fallback = int64_t{1}},
                    {.name = "select_last_index", .fallback = int64_t{0}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_numeric(x);
    const int axis = normalize_axis(node.attributes.integer("axis"), x.rank());
    Shape result = x.shape;
    const auto at = result.begin() + axis;
    if (*at == 0) throw InputError("axis {} of {} has no elements", axis, to_string(x.shape));
    if (node.attributes.integer("keepdims") != 0)
      *at = 1;
    else
      result.erase(at);
    return Types{{DType::kInt64, std::move(result)}};
  };
  row.flops = one_flop_per_input;
  return row;
}

OpSchema top_k() {
  OpSchema row;
  row.name = "TopK";
  row.range = range::as_first;
  row.steps = takes_floats;
  row.min_inputs = row.max_inputs = 1;
  row.min_outputs = row.max_outputs = 2;
  row.attributes = {required("k"),
                    {.name = "axis", .fallback = int64_t{-1}},
                    {.name = "largest", .fallback = int64_t{1}},
                    {.name = "sorted", .fallback = int64_t{1}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    TensorType values = node.inputs[0];
    require_numeric(values);
    const int axis = normalize_axis(node.attributes.integer("axis"), values.rank());
    int64_t& extent = values.shape[static_cast<size_t>(axis)];
    const int64_t k = node.attributes.integer("k");
    if (k < 0 || k > extent)
      throw InputError("k is {}, but axis {} has {} elements", k, axis, extent);
    extent = k;
    return Types{values, {DType::kInt64, values.shape}};
  };
  row.flops = one_flop_per_input;
  return row;
}

OpSchema cumulative_sum() {
  OpSchema row;
  row.name = "CumSum";
  row.range = range::finite;
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {required("axis"),
                    {.name = "exclusive", .fallback = int64_t{0}},
                    {.name = "reverse", .fallback = int64_t{0}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    require_numeric(node.inputs[0]);
    normalize_axis(node.attributes.integer("axis"), node.inputs[0].rank());
    return Types{node.inputs[0]};
  };
  row.flops = one_flop_per_output;
  return row;
}

}  // namespace

std::vector<OpSchema> reduction() {
  return {reduce("ReduceMean", range::as_first),
          reduce("ReduceSum", range::as_first),
          reduce("ReduceMax", range::as_first),
          reduce("ReduceMin", range::as_first),
          softmax("Softmax", range::non_negative),
          batch_normalization(),
          layer_normalization()};
}

std::vector<OpSchema> further_reductions() {
  return {place_of_extreme("ArgMax"),
          place_of_extreme("ArgMin"),
          top_k(),
          cumulative_sum(),
          softmax("LogSoftmax", range::finite),
          reduce("ReduceProd", nullptr),
          reduce("ReduceL1", range::non_negative),
          reduce_floats("ReduceL2", range::non_negative),
          reduce("ReduceSumSquare", range::non_negative),
          reduce_floats("ReduceLogSum", nullptr),
          reduce_floats("ReduceLogSumExp", nullptr)};
}

}  // namespace reverie::ops
