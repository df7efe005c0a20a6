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

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

}  // namespace

OpSignature in_single_precision(OpSignature signature) {
  bool any = false;
  for (auto* types : {&signature.inputs, &signature.outputs})
    for (TensorType& type : *types)
      if (is_half(type.dtype)) type.dtype = DType::kFloat32, any = true;
  if (any && signature.op->is("Cast") && is_half(dtype_named(signature.attributes->text("to")))) {
    Attributes attributes = *signature.attributes;
    attributes.set("to", std::string(name_of(DType::kFloat32)));
    signature.attributes = std::make_shared<const Attributes>(std::move(attributes));
  }
  return signature;
}

bool is_matrix_work(const OpSchema& op) {
  static constexpr std::string_view kMatrix[] = {
      "Conv", "ConvTranspose", "MatMul",        "Gemm",        "LSTM",       "GRU",
      "RNN",  "MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv"};
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
