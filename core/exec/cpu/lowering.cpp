#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/base/error.h"
#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

const std::unordered_map<std::string_view, Lowering>& table() {
  static const std::unordered_map<std::string_view, Lowering> rows = {
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
      {"Relu", lower_unary},
      {"Sigmoid", lower_unary},
      {"Tanh", lower_unary},
      {"LeakyRelu", lower_unary},
      {"Elu", lower_unary},
      {"HardSwish", lower_unary},
      {"Softplus", lower_unary},
      {"Clip", lower_unary},
      {"Sqrt", lower_unary},
      {"Exp", lower_unary},
      {"Log", lower_unary},
      {"Neg", lower_unary},
      {"Reciprocal", lower_unary},
      {"Abs", lower_unary},
      {"Erf", lower_erf},
      {"Add", lower_binary},
      {"Sub", lower_binary},
      {"Mul", lower_binary},
      {"Div", lower_binary},
      {"Min", lower_binary},
      {"Max", lower_binary},
      {"Pow", lower_power},
      {"Concat", lower_concat},
      {"Transpose", lower_transpose},
      {"Split", lower_split},
      {"Slice", lower_slice},
      {"Gather", lower_gather},
      {"Pad", lower_pad},
  };
  return rows;
}

}  // namespace

Lowering find_lowering(const OpSchema& op) {
  if (op.view) return lower_view;
  const auto at = table().find(op.name);
  return at == table().end() ? nullptr : at->second;
}

bool all_float(const Builder& builder, NodeId node) {
  const auto is_float = [&](ValueId value) {
    return !value.valid() || (builder.type(value).dtype == DType::kFloat32 &&
                              builder.type(value).elements() > 0 &&
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
