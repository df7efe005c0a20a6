#include <algorithm>

#include "core/base/error.h"
#include "core/exec/cpu/builder.h"
#include "core/ir/operator_column.h"

namespace reverie::cpu {
namespace {

const OperatorColumn<Lowering>& lowerings() {
  static const OperatorColumn<Lowering> column({
      {"Conv", lower_convolution},
      {"ConvTranspose", lower_transposed_convolution},
      {"MatMul", lower_matmul},
      {"Gemm", lower_gemm},
      {"MaxPool", lower_pool},
      {"AveragePool", lower_pool},
      {"GlobalAveragePool", lower_global_pool},
      {"GlobalMaxPool", lower_global_pool},
      {"Resize", lower_resize},
      {"BatchNormalization", lower_batch_normalization},
      {"InstanceNormalization", lower_batch_normalization},
      {"LayerNormalization", lower_layer_normalization},
      {"Softmax", lower_softmax},
      {"ReduceMean", lower_reduction},
      {"ReduceSum", lower_reduction},
      {"ReduceMax", lower_reduction},
      {"ReduceMin", lower_reduction},
      {"Erf", lower_erf},
      {"Pow", lower_power},
      {"Concat", lower_concat},
      {"Transpose", lower_transpose},
      {"Split", lower_split},
      {"Slice", lower_slice},
      {"Gather", lower_gather},
      {"Pad", lower_pad},
  });
  return column;
}

}  // namespace

Lowering find_lowering(const OpSchema& op) {
  if (op.view) return lower_view;
  const Lowering* lowering = lowerings().find(op);
  return lowering == nullptr ? find_elementwise(op) : *lowering;
}

bool all_float(const Builder& builder, NodeId node) {
  const auto is_float = [&](ValueId value) {
    return !value.valid() ||
           (builder.type(value).dtype == DType::kFloat32 && builder.type(value).elements() > 0 &&
            builder.type(value).rank() <= DNNL_MAX_NDIMS);
  };
  const auto inputs = builder.graph().inputs(node);
  const auto outputs = builder.graph().outputs(node);
  return std::all_of(inputs.begin(), inputs.end(), is_float) &&
         std::all_of(outputs.begin(), outputs.end(), is_float);
}

void append_activation(dnnl::post_ops& ops, const std::string& activation) {
  using dnnl::algorithm;
  if (activation == "relu") ops.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
  if (activation == "sigmoid") ops.append_eltwise(1, algorithm::eltwise_logistic, 0, 0);
  if (activation == "tanh") ops.append_eltwise(1, algorithm::eltwise_tanh, 0, 0);
}

}  // namespace reverie::cpu
