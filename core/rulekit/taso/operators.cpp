#include "core/rulekit/taso/operators.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie {
namespace {

namespace key = taso_key;

const std::vector<TasoOpFacts>& all_facts() {
  static const std::vector<TasoOpFacts> kFacts = {
      {.type = taso_op::kConv,
       .name = "Conv",
       .inputs = 2,
       .keys = {key::kActivation, key::kGroup}},
      {.type = taso_op::kMaxPool,
       .name = "MaxPool",
       .keys = {key::kKernelHeight, key::kKernelWidth}},
      {.type = taso_op::kAvgPool,
       .name = "AveragePool",
       .keys = {key::kKernelHeight, key::kKernelWidth}},
      {.type = taso_op::kRelu, .name = "Relu"},
      {.type = taso_op::kSigmoid, .name = "Sigmoid"},
      {.type = taso_op::kTanh, .name = "Tanh"},
      {.type = taso_op::kConcat, .name = "Concat", .keys = {key::kAxis, key::kRank}},
      {.type = taso_op::kSplit, .name = "Split", .keys = {key::kAxis, key::kRank, key::kOutputs}},
      {.type = taso_op::kReshape, .name = "Reshape", .keys = {key::kAxis, key::kRank}},
      {.type = taso_op::kTranspose, .name = "Transpose", .keys = {key::kPermutation, key::kRank}},
      {.type = taso_op::kAdd, .name = "Add", .inputs = 2, .commutative = true, .elementwise = true},
      {.type = taso_op::kMul, .name = "Mul", .inputs = 2, .commutative = true, .elementwise = true},
      {.type = taso_op::kMatMul, .name = "MatMul", .inputs = 2, .keys = {key::kActivation}},
      {.type = taso_op::kScale, .name = "Mul", .inputs = 2},
      {.type = taso_op::kEnlarge, .name = "Pad", .keys = {key::kKernelHeight, key::kKernelWidth}},
      {.type = taso_op::kIdentityMatrix, .inputs = 0},
      {.type = taso_op::kIdentityConv,
       .inputs = 0,
       .keys = {key::kKernelHeight, key::kKernelWidth}},
      {.type = taso_op::kOne, .inputs = 0, .keys = {key::kRank}},
      {.type = taso_op::kPoolKernel, .inputs = 0, .keys = {key::kKernelHeight, key::kKernelWidth}},
      {.type = taso_op::kSub, .name = "Sub", .inputs = 2, .elementwise = true},
      {.type = taso_op::kDiv, .name = "Div", .inputs = 2, .elementwise = true},
      {.type = taso_op::kReduceSum,
       .name = "ReduceSum",
       .keys = {key::kAxis, key::kRank, key::kKeepDims}},
      {.type = taso_op::kSoftmax, .name = "Softmax", .keys = {key::kAxis, key::kRank}}};
  return kFacts;
}

}  // namespace

const TasoOpFacts& taso_facts(int type) {
  for (const TasoOpFacts& facts : all_facts())
    if (facts.type == type) return facts;
  throw InputError(
      "operator type {} is not one that is understood (3 Conv2D, 6 and 7 pools, 8 to 10 "
      "activations, 12 to 20, 22 to 25, 28 Sub, 29 Div, 41 ReduceSum, 1000 Softmax)",
      type);
}

const TasoOpFacts* taso_facts_named(const std::string& name) {
  for (const TasoOpFacts& facts : all_facts())
    if (facts.name == name && !facts.constant()) return &facts;
  return nullptr;
}

void check_taso_inputs(const TasoOp& op) {
  const TasoOpFacts& facts = taso_facts(op.type);
  if (op.inputs.size() < facts.inputs ||
      (op.type != taso_op::kConcat && op.inputs.size() != facts.inputs))
    throw InputError("operator type {} has {} inputs", op.type, op.inputs.size());
}

bool drops_dimension(const TasoOp& op) {
  return op.type == taso_op::kReshape ||
         (op.type == taso_op::kReduceSum && op.parameter(taso_key::kKeepDims, 0) == 0);
}

std::vector<int> permutation_of(const TasoOp& op) {
  const int rank = op.parameter(taso_key::kRank, 0);
  int rest = op.parameter(taso_key::kPermutation, -1);
  const int code = rest;
  std::vector<int> permutation(static_cast<size_t>(std::clamp(rank, 0, 8)));
  for (size_t i = permutation.size(); i-- > 0; rest /= rank) permutation[i] = rest % rank;
  std::vector<int> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool valid = rank >= 1 && rank <= 8 && code >= 0 && rest == 0;
  for (size_t i = 0; i < sorted.size(); ++i) valid = valid && sorted[i] == static_cast<int>(i);
  if (!valid) throw InputError("{} is no permutation of {} dimensions", code, rank);
  return permutation;
}

std::array<int64_t, 2> kernel_of(const TasoOp& op) {
  constexpr int kMostExtent = 64;
  const int height = op.parameter(taso_key::kKernelHeight, 0);
  const int width = op.parameter(taso_key::kKernelWidth, 0);
  if (std::min(height, width) < 1 || std::max(height, width) > kMostExtent)
    throw InputError("operator type {} has a kernel of {} by {}", op.type, height, width);
  return {height, width};
}

}  // namespace reverie
