#include <functional>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/ops/common.h"

namespace reverie::ops {
namespace {

enum : size_t { kX, kFilter, kBias, kResidual };

int spatial_rank(const TensorType& x) {
  if (x.rank() < 3 || x.rank() > 5)
    throw InputError("needs batch, channels and one to three extents, not rank {}", x.rank());
  return x.rank() - 2;
}

/// Strides and dilations of one, pads of nought, unless given.
void fill_in_window(Attributes& attributes, const TensorType& x, bool dilations) {
  const auto rank = static_cast<size_t>(spatial_rank(x));
  set_if_absent(attributes, "strides", std::vector<int64_t>(rank, 1));
  set_if_absent(attributes, "pads", std::vector<int64_t>(2 * rank, 0));
  if (dilations) set_if_absent(attributes, "dilations", std::vector<int64_t>(rank, 1));
}

/// Positions of a window along every spatial axis (ONNX operator specification, Conv and MaxPool:
/// floor, or ceil with ceil_mode, of (in + pads - ((kernel - 1) * dilation + 1)) / stride, plus 1).
Shape window_positions(const OpContext& node, std::span<const int64_t> kernel, bool ceil_mode) {
  const Shape& x = node.inputs[kX].shape;
  const auto rank = static_cast<size_t>(spatial_rank(node.inputs[kX]));
  require_integers(node.attributes, "strides", rank, 1);
  require_integers(node.attributes, "pads", 2 * rank, 0);
  const std::vector<int64_t>& strides = node.attributes.integers("strides");
  const std::vector<int64_t>& pads = node.attributes.integers("pads");
  const std::vector<int64_t> dilations =
      node.attributes.integers("dilations", std::vector<int64_t>(rank, 1));
  Shape positions(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = x[i + 2] + pads[i] + pads[i + rank];
    if (extent < 1 || kernel[i] - 1 > (extent - 1) / dilations[i])  // their product could overflow
      throw InputError("a window of {} (dilation {}) does not fit into the padded extent {}",
                       kernel[i], dilations[i], extent);
    const int64_t slack = extent - 1 - (kernel[i] - 1) * dilations[i];
    positions[i] = (slack + (ceil_mode ? strides[i] - 1 : 0)) / strides[i] + 1;
  }
  return positions;
}

Types infer_conv(const OpContext& node) {
  require_same_dtype(node);
  require_floating(node.inputs[kX]);
  require_activation(node.attributes);
  const TensorType& x = node.inputs[kX];
  const Shape& filter = node.inputs[kFilter].shape;
  const int rank = spatial_rank(x);
  if (static_cast<int>(filter.size()) != rank + 2)
    throw InputError("the filter {} should have rank {}", to_string(filter), rank + 2);
  require_integers(node.attributes, "dilations", static_cast<size_t>(rank), 1);
  const int64_t group = node.attributes.integer("group");
  if (group < 1 || filter[0] % group != 0)
    throw InputError("{} filters do not divide into {} groups", filter[0], group);
  if (filter[1] * group != x.shape[1])
    throw InputError("{} input channels, but {} groups of filters with {} channels", x.shape[1],
                     group, filter[1]);
  Shape result = {x.shape[0], filter[0]};
  const Shape positions = window_positions(node, std::span(filter).subspan(2), false);
  result.insert(result.end(), positions.begin(), positions.end());
  if (node.has_input(kBias)) require_shape(node.inputs[kBias], {filter[0]}, "the bias");
  if (node.has_input(kResidual)) require_shape(node.inputs[kResidual], result, "the residual");
  return {{x.dtype, std::move(result)}};
}

OpSchema conv() {
  OpSchema row;
  row.name = "Conv";
  row.min_inputs = 2;
  row.max_inputs = 4;
  row.attributes = {optional("strides"),
                    optional("pads"),
                    optional("dilations"),
                    {.name = "group", .fallback = int64_t{1}},
                    {.name = "activation", .fallback = std::string("none")}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    fill_in_window(attributes, inputs[kX], true);
  };
  row.infer = infer_conv;
  row.flops = [](const OpContext& node) {
    const Shape& filter = node.inputs[kFilter].shape;
    const int64_t taps = element_count(Shape(filter.begin() + 1, filter.end()));
    return 2 * node.outputs[0].elements() * taps + epilogue_flops(node, kBias, kResidual);
  };
  return row;
}

int64_t window_taps(const OpContext& node) {
  const std::vector<int64_t>& kernel = node.attributes.integers("kernel_shape");
  return std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>());
}

OpSchema pool(std::string name, bool dilations) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {required("kernel_shape"),
                    optional("strides"),
                    optional("pads"),
                    {.name = "ceil_mode", .fallback = int64_t{0}}};
  if (dilations) row.attributes.push_back(optional("dilations"));
  row.normalize = [dilations](Attributes& attributes, std::span<const TensorType> inputs) {
    fill_in_window(attributes, inputs[kX], dilations);
  };
  row.infer = [dilations](const OpContext& node) {
    const TensorType& x = node.inputs[kX];
    require_numeric(x);
    const auto rank = static_cast<size_t>(spatial_rank(x));
    require_integers(node.attributes, "kernel_shape", rank, 1);
    if (dilations) require_integers(node.attributes, "dilations", rank, 1);
    const Shape positions = window_positions(node, node.attributes.integers("kernel_shape"),
                                             node.attributes.integer("ceil_mode") != 0);
    Shape result = {x.shape[0], x.shape[1]};
    result.insert(result.end(), positions.begin(), positions.end());
    return Types{{x.dtype, std::move(result)}};
  };
  row.flops = [](const OpContext& node) { return node.outputs[0].elements() * window_taps(node); };
  return row;
}

OpSchema average_pool() {
  OpSchema row = pool("AveragePool", false);
  row.infer = [infer = row.infer](const OpContext& node) {
    require_floating(node.inputs[kX]);
    return infer(node);
  };
  row.attributes.push_back({.name = "count_include_pad", .fallback = int64_t{0}});
  return row;
}

OpSchema global_pool(std::string name) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = 1;
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[kX];
    require_floating(x);
    Shape result(x.shape.size(), 1);
    spatial_rank(x);
    result[0] = x.shape[0];
    result[1] = x.shape[1];
    return Types{{x.dtype, std::move(result)}};
  };
  row.flops = one_flop_per_input;
  return row;
}

}  // namespace

std::vector<OpSchema> spatial() {
  return {conv(), pool("MaxPool", true), average_pool(), global_pool("GlobalAveragePool"),
          global_pool("GlobalMaxPool")};
}

}  // namespace reverie::ops
