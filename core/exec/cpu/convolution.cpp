#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

using Primitive = dnnl::convolution_forward;

struct Window {
  Dims strides, dilations, before, after;
};

/// oneDNN counts a dense filter's dilation as 0.
Window window_of(const Attributes& attributes) {
  const std::vector<int64_t>& pads = attributes.integers("pads");
  const auto middle = pads.begin() + static_cast<ptrdiff_t>(pads.size() / 2);
  Window window{attributes.integers("strides"),
                attributes.integers("dilations"),
                {pads.begin(), middle},
                {middle, pads.end()}};
  for (int64_t& dilation : window.dilations) --dilation;
  return window;
}

/// The filter as oneDNN counts it: with an extent for the groups where there are several.
Dims filter_dims(const Shape& filter, int64_t groups) {
  if (groups == 1) return filter;
  Dims dims = {groups, filter[0] / groups};
  dims.insert(dims.end(), filter.begin() + 1, filter.end());
  return dims;
}

Primitive::primitive_desc choose(const Window& window, const Dims& source, const Dims& filter,
                                 const std::optional<Dims>& bias, const Desc& target,
                                 const dnnl::post_ops& ops) {
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const Primitive::desc desc =
      bias ? Primitive::desc(kind, algorithm, any_layout(source), any_layout(filter),
                             any_layout(*bias), target, window.strides, window.dilations,
                             window.before, window.after)
           : Primitive::desc(kind, algorithm, any_layout(source), any_layout(filter), target,
                             window.strides, window.dilations, window.before, window.after);
  return {desc, attr, engine()};
}

using Transposed = dnnl::deconvolution_forward;

/// The filters stand by input channel, then by output channel of the group.
Desc transposed_filter(const Shape& filter, int64_t groups) {
  const int64_t inputs = filter[0] / groups, outputs = filter[1];
  const Dims row_major = row_major_strides(filter);
  Dims dims = {outputs, inputs}, strides = {row_major[1], row_major[0]};
  dims.insert(dims.end(), filter.begin() + 2, filter.end());
  strides.insert(strides.end(), row_major.begin() + 2, row_major.end());
  if (groups > 1) {
    dims.insert(dims.begin(), groups);
    strides.insert(strides.begin(), inputs * row_major[0]);
  }
  return strided(dims, strides);
}

Transposed::primitive_desc choose_transposed(const Window& window, const Dims& source,
                                             const Dims& filter, const Dims& target) {
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
           any_layout(source), any_layout(filter), any_layout(target), window.strides,
           window.dilations, window.before, window.after},
          engine()};
}

/// One number per channel, added by a kernel of its own: oneDNN's transposed convolutions take
/// several times as long where they add it themselves.
Slot with_bias(Builder& builder, const Slot& result, ValueId value, ValueId bias) {
  // Channels that do not fill their blocks would be added to one by one.
  const Slot image = builder.converted(result, natural_desc(builder.type(value)));
  Dims dims(image.desc.dims().size(), 1);
  dims[1] = builder.type(bias).shape[0];
  const Desc row = dense(dims);
  const dnnl::binary::primitive_desc chosen(
      {dnnl::algorithm::binary_add, image.desc, row, image.desc}, engine());
  const Slot sum = builder.fresh(image.desc);
  builder.add(dnnl::binary(chosen),
              {{DNNL_ARG_SRC_0, image}, {DNNL_ARG_SRC_1, {builder.plain(bias).buffer, row}}},
              {{DNNL_ARG_DST, sum}});
  return sum;
}

}  // namespace

bool lower_transposed_convolution(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const ValueId output = builder.graph().output(node);
  Window window = window_of(attributes);
  for (size_t i = 0; i < window.after.size(); ++i)
    window.after[i] -= attributes.integers("output_padding")[i];
  const Desc filter = transposed_filter(builder.type(inputs[1]).shape, attributes.integer("group"));
  const auto chosen =
      choose_transposed(window, builder.dims(inputs[0]), filter.dims(), builder.dims(output));
  const Slot result = builder.fresh(chosen.dst_desc());
  builder.add(Transposed(chosen),
              {{DNNL_ARG_SRC, builder.in_layout(inputs[0], chosen.src_desc())},
               {DNNL_ARG_WEIGHTS, builder.converted({builder.plain(inputs[1]).buffer, filter},
                                                    chosen.weights_desc())}},
              {{DNNL_ARG_DST, result}});
  const bool has_bias = inputs.size() > 2;
  builder.define(output, has_bias ? with_bias(builder, result, output, inputs[2]) : result);
  return true;
}

bool lower_convolution(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const ValueId output = builder.graph().output(node);
  const bool has_bias = inputs.size() > 2 && inputs[2].valid();
  const bool has_residual = inputs.size() > 3 && inputs[3].valid();
  const Window window = window_of(attributes);
  const Dims source = builder.dims(inputs[0]);
  const Dims filter = filter_dims(builder.type(inputs[1]).shape, attributes.integer("group"));
  const auto bias = has_bias ? std::optional(builder.dims(inputs[2])) : std::nullopt;
  dnnl::post_ops ops;
  if (has_residual) ops.append_sum();
  append_activation(ops, attributes.text("activation"));
  const auto chosen = choose(window, source, filter, bias, any_layout(builder.dims(output)), ops);
  std::vector<Argument> reads = {
      {DNNL_ARG_SRC, builder.in_layout(inputs[0], chosen.src_desc())},
      {DNNL_ARG_WEIGHTS,
       builder.converted({builder.plain(inputs[1]).buffer, dense(filter)}, chosen.weights_desc())}};
  if (has_bias) reads.push_back({DNNL_ARG_BIAS, builder.plain(inputs[2])});
  // The kernel adds to what its target holds.
  const Slot result = has_residual ? builder.to_overwrite(inputs[3], chosen.dst_desc(), node)
                                   : builder.fresh(chosen.dst_desc());
  if (has_residual) reads.push_back({DNNL_ARG_DST, result});
  builder.add(Primitive(chosen), std::move(reads), {{DNNL_ARG_DST, result}});
  builder.define(output, result);
  return true;
}

}  // namespace reverie::cpu
