#include <functional>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"
#include "core/ir/ops/window.h"

namespace reverie::ops {
namespace {

enum : size_t { kX, kFilter, kBias, kResidual };

Types infer_conv(const OpContext& node) {
  require_same_dtype(node);
  require_floating(node.inputs[kX]);
  require_activation(node.attributes);
  const TensorType& x = node.inputs[kX];
  const Shape& filter = node.inputs[kFilter].shape;
  Shape result = convolution_shape(node, filter);
  if (node.has_input(kBias)) require_shape(node.inputs[kBias], {filter[0]}, "the bias");
  if (node.has_input(kResidual)) require_shape(node.inputs[kResidual], result, "the residual");
  return {{x.dtype, std::move(result)}};
}

OpSchema conv() {
  OpSchema row;
  row.name = "Conv";
  row.range = range::finite;
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
  row.range = range::max_pool;
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
    return Types{{x.dtype, image_of(x, x.shape[1], positions)}};
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
  row.range = range::as_first;
  return row;
}

OpSchema global_pool(std::string name) {
  OpSchema row;
  row.name = std::move(name);
  row.range = range::as_first;
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
