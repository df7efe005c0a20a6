#include "core/exec/device/builder.h"
#include "core/ir/operator_column.h"

namespace reverie::device {
namespace {

const OperatorColumn<Lowering>& lowerings() {
  static const OperatorColumn<Lowering> column({
      {"Conv", lower_convolution},
      {"MatMul", lower_matmul},
      {"Gemm", lower_gemm},
      {"MaxPool", lower_pool},
      {"AveragePool", lower_pool},
      {"GlobalAveragePool", lower_global_pool},
      {"GlobalMaxPool", lower_global_pool},
      {"BatchNormalization", lower_batch_normalization},
      {"LayerNormalization", lower_layer_normalization},
      {"SkipLayerNormalization", lower_skip_layer_normalization},
      {"Softmax", lower_softmax},
      {"FusedAttention", lower_attention},
      {"ReduceMean", lower_reduction},
      {"ReduceSum", lower_reduction},
      {"ReduceMax", lower_reduction},
      {"ReduceMin", lower_reduction},
      {"Concat", lower_concat},
      {"Transpose", lower_transpose},
      {"Split", lower_split},
      {"Slice", lower_slice},
      {"Expand", lower_expand},
      {"Tile", lower_tile},
      {"Gather", lower_gather},
      {"Pad", lower_pad},
      {"Pointwise", lower_pointwise},
  });
  return column;
}

}  // namespace

Lowering find_lowering(const OpSchema& op) {
  if (op.view) return lower_view;
  const Lowering* lowering = lowerings().find(op);
  return lowering == nullptr ? find_elementwise(op) : *lowering;
}

}  // namespace reverie::device
