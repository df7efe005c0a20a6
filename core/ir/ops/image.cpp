#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"
#include "core/ir/ops/window.h"

namespace reverie::ops {
namespace {

enum : size_t { kX, kFilter, kBias };

/// From the first of `count` positions to the last, at this distance from each other.
int64_t span_of(int64_t count, int64_t distance) {
  int64_t span = 0;
  if (__builtin_mul_overflow(count - 1, distance, &span))
    throw InputError("{} positions at a distance of {} are too many", count, distance);
  return span;
}

/// ONNX operator specification, ConvTranspose: stride * (in - 1) + output_padding +
/// (kernel - 1) * dilation + 1 - pads.
Shape transposed_extents(const OpContext& node) {
  const Attributes& attributes = node.attributes;
  const Shape& x = node.inputs[kX].shape;
  const Shape& filter = node.inputs[kFilter].shape;
  const size_t rank = x.size() - 2;
  require_integers(attributes, "strides", rank, 1);
  require_integers(attributes, "dilations", rank, 1);
  require_integers(attributes, "output_padding", rank, 0);
  require_integers(attributes, "pads", 2 * rank, 0);
  const std::vector<int64_t>& pads = attributes.integers("pads");
  Shape extents(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (x[i + 2] < 1 || filter[i + 2] < 1)
      throw InputError("cannot spread an extent of {} by a filter of {}", x[i + 2], filter[i + 2]);
    extents[i] = span_of(x[i + 2], attributes.integers("strides")[i]) +
                 span_of(filter[i + 2], attributes.integers("dilations")[i]) + 1 +
                 attributes.integers("output_padding")[i] - pads[i] - pads[i + rank];
    if (extents[i] < 1) throw InputError("pads leave an extent of {}", extents[i]);
  }
  return extents;
}

Types infer_conv_transpose(const OpContext& node) {
  const TensorType& x = node.inputs[kX];
  const Shape& filter = node.inputs[kFilter].shape;
  require_same_dtype(node);
  require_floating(x);
  if (static_cast<int>(filter.size()) != spatial_rank(x) + 2)
    throw InputError("the filter {} should have rank {}", to_string(filter), x.rank());
  const int64_t group = node.attributes.integer("group");
  if (group < 1 || filter[0] % group != 0)
    throw InputError("{} input channels do not divide into {} groups", filter[0], group);
  if (filter[0] != x.shape[1])
    throw InputError("{} input channels, but filters for {}", x.shape[1], filter[0]);
  const int64_t channels = filter[1] * group;
  if (node.has_input(kBias)) require_shape(node.inputs[kBias], {channels}, "the bias");
  return {{x.dtype, image_of(x, channels, transposed_extents(node))}};
}

OpSchema conv_transpose() {
  OpSchema row;
  row.name = "ConvTranspose";
  row.range = range::finite;
  row.min_inputs = 2;
  row.max_inputs = 3;
  row.attributes = {optional("strides"),
                    optional("pads"),
                    optional("dilations"),
                    optional("output_padding"),
                    {.name = "group", .fallback = int64_t{1}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    fill_in_window(attributes, inputs[kX], true);
    set_if_absent(attributes, "output_padding",
                  std::vector<int64_t>(static_cast<size_t>(spatial_rank(inputs[kX])), 0));
  };
  row.infer = infer_conv_transpose;
  row.flops = [](const OpContext& node) {
    const Shape& filter = node.inputs[kFilter].shape;
    const int64_t taps = element_count(Shape(filter.begin() + 1, filter.end()));
    const int64_t biases = node.has_input(kBias) ? node.outputs[0].elements() : 0;
    return 2 * node.inputs[kX].elements() * taps + biases;
  };
  return row;
}

void require_norm(const Attributes& attributes) {
  if (attributes.integer("p") < 1)
    throw InputError("there is no norm of order {}", attributes.integer("p"));
}

/// A power, a multiplication and an addition per tap; a root at the end.
OpSchema lp_pool() {
  OpSchema row;
  row.name = "LpPool";
  row.range = range::non_negative;
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {required("kernel_shape"),
                    optional("strides"),
                    optional("pads"),
                    {.name = "p", .fallback = int64_t{2}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    fill_in_window(attributes, inputs[kX], false);
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[kX];
    require_floating(x);
    require_norm(node.attributes);
    require_integers(node.attributes, "kernel_shape", static_cast<size_t>(spatial_rank(x)), 1);
    const Shape extents = window_positions(node, node.attributes.integers("kernel_shape"), false);
    return Types{{x.dtype, image_of(x, x.shape[1], extents)}};
  };
  row.flops = [](const OpContext& node) {
    const std::vector<int64_t>& kernel = node.attributes.integers("kernel_shape");
    const int64_t taps =
        std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>());
    return node.outputs[0].elements() * (2 * taps + 1);
  };
  return row;
}

OpSchema global_lp_pool() {
  OpSchema row;
  row.name = "GlobalLpPool";
  row.range = range::non_negative;
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {{.name = "p", .fallback = int64_t{2}}};
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[kX];
    require_floating(x);
    require_norm(node.attributes);
    const auto rank = static_cast<size_t>(spatial_rank(x));
    return Types{{x.dtype, image_of(x, x.shape[1], Shape(rank, 1))}};
  };
  row.flops = [](const OpContext& node) { return 2 * node.inputs[kX].elements(); };
  return row;
}

}  // namespace

std::vector<OpSchema> image() { return {conv_transpose(), lp_pool(), global_lp_pool()}; }

}  // namespace reverie::ops
