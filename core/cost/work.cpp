#include "core/cost/work.h"

#include <algorithm>
#include <string_view>

namespace reverie {
namespace {

template <size_t N>
bool is_one_of(const OpSchema& op, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), op.name) != std::end(names);
}

int64_t all_bytes(const OpSignature& signature) {
  int64_t total = 0;
  for (const TensorType& type : signature.inputs) total += type.bytes();
  for (const TensorType& type : signature.outputs) total += type.bytes();
  return total;
}

}  // namespace

bool is_matrix_work(const OpSchema& op) {
  static constexpr std::string_view kMatrix[] = {
      "Conv",          "ConvTranspose", "MatMul",      "Gemm",        "LSTM", "GRU", "RNN",
      "MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv"};
  return is_one_of(op, kMatrix);
}

Cost work_of(const OpSignature& signature) {
  const OpSchema& op = *signature.op;
  if (op.view) return {};
  const OpContext context{signature.inputs, signature.outputs, *signature.attributes};
  Cost work;
  work.flops = op.flops ? op.flops(context) : 0;
  work.bytes = op.bytes ? op.bytes(context) : all_bytes(signature);
  work.launches = 1;
  return work;
}

}  // namespace reverie
