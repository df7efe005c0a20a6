#include <algorithm>

#include "core/exec/device/builder.h"
#include "core/exec/reference/window.h"

namespace reverie::device {
namespace {

Window window_of(const Shape& x, const Shape& out, const Attributes& attributes,
                 std::span<const int64_t> kernel) {
  const reference::Window w = reference::window_of(x, out, attributes, kernel);
  return {w.in, w.out, w.kernel, w.stride, w.dilation, w.pad_begin, w.pad_end};
}

/// What convolutions want: as many pads behind as before. Otherwise the image is padded beforehand.
std::optional<BufferId> evenly_padded(Builder& builder, ValueId image, Window& window) {
  if (window.before == window.after) return builder.at(image);
  const TensorType type = builder.type(image);
  const size_t rank = type.shape.size() - 2, lead = 3 - rank;
  std::vector<int64_t> before(rank + 2, 0), after(rank + 2, 0);
  for (size_t i = 0; i < rank; ++i) {
    before[i + 2] = window.before[lead + i];
    after[i + 2] = window.after[lead + i];
    window.in[lead + i] += before[i + 2] + after[i + 2];
  }
  window.before = window.after = {0, 0, 0};
  return add_padded(builder, builder.at(image), type, before, after, 0);
}

bool add_pool(Builder& builder, Pool kind, const Window& window, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const TensorType type = builder.type(input);
  const Pooling call{
      .dtype = type.dtype, .kind = kind, .planes = type.shape[0] * type.shape[1], .window = window};
  return builder.add(call, {builder.at(input)}, {builder.define(builder.graph().output(node))});
}

}  // namespace

bool lower_convolution(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const TensorType image = builder.type(inputs[0]);
  const Shape filter = builder.type(inputs[1]).shape;
  Convolution call{.dtype = image.dtype,
                   .batch = image.shape[0],
                   .channels = image.shape[1],
                   .filters = filter[0],
                   .groups = attributes.integer("group"),
                   .window = window_of(image.shape, builder.type(output).shape, attributes,
                                       std::span(filter).subspan(2)),
                   .has_bias = inputs.size() > 2 && inputs[2].valid(),
                   .has_residual = inputs.size() > 3 && inputs[3].valid(),
                   .activation = activation_of(attributes)};
  const auto padded = evenly_padded(builder, inputs[0], call.window);
  if (!padded) return false;
  std::vector<BufferId> reads = {*padded, builder.at(inputs[1])};
  if (call.has_bias) reads.push_back(builder.at(inputs[2]));
  if (call.has_residual) reads.push_back(builder.at(inputs[3]));
  return builder.add(call, std::move(reads), {builder.define(output)});
}

bool lower_pool(Builder& builder, NodeId node) {
  const Attributes& attributes = builder.graph().attributes(node);
  const Window window = window_of(builder.type(builder.graph().inputs(node)[0]).shape,
                                  builder.type(builder.graph().output(node)).shape, attributes,
                                  attributes.integers("kernel_shape"));
  const Pool average =
      attributes.integer("count_include_pad", 0) != 0 ? Pool::kAveragePadded : Pool::kAverage;
  return add_pool(builder, builder.graph().op(node).is("MaxPool") ? Pool::kMax : average, window,
                  node);
}

/// A reduction over all spatial axes.
bool lower_global_pool(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const TensorType type = builder.type(input);
  const int64_t plane = element_count({type.shape.begin() + 2, type.shape.end()});
  const Reduction call{
      .dtype = type.dtype,
      .kind = builder.graph().op(node).is("GlobalMaxPool") ? Reduce::kMax : Reduce::kMean,
      .kept = {type.shape[0] * type.shape[1]},
      .reduced = {plane},
      .kept_strides = {plane},
      .reduced_strides = {1}};
  return builder.add(call, {builder.at(input)}, {builder.define(builder.graph().output(node))});
}

}  // namespace reverie::device
