#include <string_view>
#include <unordered_map>

#include "core/exec/device/builder.h"

namespace reverie::device {
namespace {

const std::unordered_map<std::string_view, Lowering>& table() {
  static const std::unordered_map<std::string_view, Lowering> rows = {
      {"Conv", lower_convolution},
      {"MatMul", lower_matmul},
      {"Gemm", lower_gemm},
      {"MaxPool", lower_pool},
      {"AveragePool", lower_pool},
      {"GlobalAveragePool", lower_global_pool},
      {"GlobalMaxPool", lower_global_pool},
      {"BatchNormalization", lower_batch_normalization},
      {"LayerNormalization", lower_layer_normalization},
      {"Softmax", lower_softmax},
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
  };
  return rows;
}

}  // namespace

Lowering find_lowering(const OpSchema& op) {
  if (op.view) return lower_view;
  if (const auto at = table().find(op.name); at != table().end()) return at->second;
  return find_elementwise(op);
}

}  // namespace reverie::device
