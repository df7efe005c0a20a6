#include <algorithm>
#include <string_view>

#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

using BatchNormalization = dnnl::batch_normalization_forward;

using dnnl::normalization_flags;

BatchNormalization::primitive_desc choose_batch_normalization(const Desc& desc, float epsilon,
                                                              normalization_flags statistics) {
  return {{dnnl::prop_kind::forward_inference, desc, epsilon,
           statistics | normalization_flags::use_scale | normalization_flags::use_shift},
          engine()};
}

bool is_slow(const dnnl::primitive_desc_base& chosen) {
  return std::string_view(chosen.impl_info_str()).find("ref") != std::string_view::npos;
}

}  // namespace

/// InstanceNormalization of one image is a batch normalization that takes its batch's statistics.
bool lower_batch_normalization(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const bool of_instance = builder.graph().op(node).is("InstanceNormalization");
  if (of_instance && builder.type(inputs[0]).shape[0] != 1) return false;
  const auto statistics =
      of_instance ? normalization_flags::none : normalization_flags::use_global_stats;
  const ValueId output = builder.graph().output(node);
  const auto epsilon = static_cast<float>(builder.graph().attributes(node).number("epsilon"));
  Slot source = builder.at(inputs[0]);
  auto chosen = choose_batch_normalization(source.desc, epsilon, statistics);
  if (is_slow(chosen)) {  // no fast kernel for this layout
    source = builder.in_layout(inputs[0], natural_desc(builder.type(inputs[0])));
    chosen = choose_batch_normalization(source.desc, epsilon, statistics);
  }
  std::vector<Argument> reads = {{DNNL_ARG_SRC, source},
                                 {DNNL_ARG_SCALE, builder.plain(inputs[1])},
                                 {DNNL_ARG_SHIFT, builder.plain(inputs[2])}};
  if (!of_instance) {
    reads.push_back({DNNL_ARG_MEAN, builder.plain(inputs[3])});
    reads.push_back({DNNL_ARG_VARIANCE, builder.plain(inputs[4])});
  }
  const Slot result = builder.fresh(chosen.dst_desc());
  builder.add(BatchNormalization(chosen), std::move(reads), {{DNNL_ARG_DST, result}});
  builder.define(output, result);
  return true;
}

bool lower_layer_normalization(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const Shape& shape = builder.type(output).shape;
  const auto axis = shape.begin() + attributes.integer("axis");
  const int64_t rows = element_count({shape.begin(), axis});
  const int64_t width = element_count({axis, shape.end()});
  const bool has_shift = inputs.size() > 2 && inputs[2].valid();
  for (size_t i = 1; i < inputs.size(); ++i)
    if (builder.type(inputs[i]).elements() != width) return false;

  const Desc desc = dense({rows, width});
  const auto flags = has_shift ? normalization_flags::use_scale | normalization_flags::use_shift
                               : normalization_flags::use_scale;
  const dnnl::layer_normalization_forward::primitive_desc chosen(
      {dnnl::prop_kind::forward_inference, desc, static_cast<float>(attributes.number("epsilon")),
       flags},
      engine());
  std::vector<Argument> reads = {
      {DNNL_ARG_SRC, {builder.plain(inputs[0]).buffer, desc}},
      {DNNL_ARG_SCALE, {builder.plain(inputs[1]).buffer, dense({width})}}};
  if (has_shift)
    reads.push_back({DNNL_ARG_SHIFT, {builder.plain(inputs[2]).buffer, dense({width})}});
  const Slot result = builder.fresh(desc);
  builder.add(dnnl::layer_normalization_forward(chosen), std::move(reads),
              {{DNNL_ARG_DST, result}});
  builder.define(output, {result.buffer, plain_desc(builder.type(output))});
  return true;
}

bool lower_softmax(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId output = builder.graph().output(node);
  const Slot source = builder.plain(builder.graph().inputs(node)[0]);
  const auto axis = static_cast<int>(builder.graph().attributes(node).integer("axis"));
  const dnnl::softmax_v2_forward::primitive_desc chosen(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, source.desc,
       source.desc, axis},
      engine());
  const Slot result = builder.fresh(source.desc);
  builder.add(dnnl::softmax_v2_forward(chosen), {{DNNL_ARG_SRC, source}}, {{DNNL_ARG_DST, result}});
  builder.define(output, result);
  return true;
}

namespace {

dnnl::algorithm reduction_of(const OpSchema& op) {
  if (op.is("ReduceMean")) return dnnl::algorithm::reduction_mean;
  if (op.is("ReduceSum")) return dnnl::algorithm::reduction_sum;
  if (op.is("ReduceMax")) return dnnl::algorithm::reduction_max;
  return dnnl::algorithm::reduction_min;
}

}  // namespace

bool lower_reduction(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId output = builder.graph().output(node);
  const Slot source = builder.plain(builder.graph().inputs(node)[0]);
  Dims dims = source.desc.dims();
  const std::vector<int64_t>& axes = builder.graph().attributes(node).integers("axes");
  for (const int64_t axis : axes) dims[static_cast<size_t>(axis)] = 1;
  if (dims == source.desc.dims()) {  // nothing to reduce, which oneDNN refuses
    builder.define(output, {source.buffer, plain_desc(builder.type(output))});
    return true;
  }
  const Desc target = dense(dims);
  const dnnl::reduction::primitive_desc chosen(
      {reduction_of(builder.graph().op(node)), source.desc, target, 0, 0}, engine());
  const Slot result = builder.fresh(target);
  builder.add(dnnl::reduction(chosen), {{DNNL_ARG_SRC, source}}, {{DNNL_ARG_DST, result}});
  builder.define(output, {result.buffer, plain_desc(builder.type(output))});
  return true;
}

}  // namespace reverie::cpu
