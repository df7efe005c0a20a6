#include <algorithm>

#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

using dnnl::algorithm;

struct PoolWindow {
  Dims kernel, strides, dilations, before, after;
};

void add_pool(Builder& builder, algorithm kind, const PoolWindow& window, ValueId input,
              ValueId output) {
  const Slot source = builder.at(input);
  const dnnl::pooling_v2_forward::primitive_desc chosen(
      {dnnl::prop_kind::forward_inference, kind, source.desc, any_layout(builder.dims(output)),
       window.strides, window.kernel, window.dilations, window.before, window.after},
      engine());
  const Slot result = builder.fresh(chosen.dst_desc());
  builder.add(dnnl::pooling_v2_forward(chosen), {{DNNL_ARG_SRC, source}}, {{DNNL_ARG_DST, result}});
  builder.define(output, result);
}

/// With ceil_mode the last window may reach beyond the declared padding.
int64_t reach(const Attributes& attributes, const PoolWindow& window, const Shape& input,
              const Shape& output, size_t axis) {
  const int64_t extent = window.kernel[axis] + (window.kernel[axis] - 1) * window.dilations[axis];
  const int64_t needed = (output[axis + 2] - 1) * window.strides[axis] + extent - input[axis + 2] -
                         window.before[axis];
  const int64_t declared = attributes.integers("pads")[axis + window.kernel.size()];
  return std::max(needed, declared);
}

}  // namespace

bool lower_pool(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const Attributes& attributes = builder.graph().attributes(node);
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId output = builder.graph().output(node);
  PoolWindow window{
      attributes.integers("kernel_shape"), attributes.integers("strides"), {}, {}, {}};
  const size_t rank = window.kernel.size();
  window.dilations = attributes.integers("dilations", std::vector<int64_t>(rank, 1));
  for (int64_t& dilation : window.dilations) --dilation;
  const std::vector<int64_t>& pads = attributes.integers("pads");
  const bool counts_pads = attributes.integer("count_include_pad", 0) != 0;
  for (size_t i = 0; i < rank; ++i) {
    window.before.push_back(pads[i]);
    window.after.push_back(
        reach(attributes, window, builder.type(input).shape, builder.type(output).shape, i));
    if (counts_pads && window.after[i] != pads[i + rank]) return false;
  }
  const bool is_max = builder.graph().op(node).is("MaxPool");
  add_pool(builder,
           is_max        ? algorithm::pooling_max
           : counts_pads ? algorithm::pooling_avg_include_padding
                         : algorithm::pooling_avg_exclude_padding,
           window, input, output);
  return true;
}

bool lower_global_pool(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const Shape& shape = builder.type(input).shape;
  const Dims nought(shape.size() - 2, 0);
  const PoolWindow window{
      {shape.begin() + 2, shape.end()}, Dims(shape.size() - 2, 1), nought, nought, nought};
  add_pool(builder,
           builder.graph().op(node).is("GlobalMaxPool") ? algorithm::pooling_max
                                                        : algorithm::pooling_avg_exclude_padding,
           window, input, builder.graph().output(node));
  return true;
}

}  // namespace reverie::cpu
