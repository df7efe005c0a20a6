#include <map>

#include "core/base/error.h"
#include "core/rulekit/generate/identity.h"

namespace reverie::generate {
namespace {

int type_of(Kind kind) {
  switch (kind) {
    case Kind::kMatMul:
      return taso_op::kMatMul;
    case Kind::kAdd:
      return taso_op::kAdd;
    case Kind::kMul:
      return taso_op::kMul;
    case Kind::kSub:
      return taso_op::kSub;
    case Kind::kDiv:
      return taso_op::kDiv;
    case Kind::kScale:
      return taso_op::kScale;
    case Kind::kConv:
    case Kind::kConvRelu:
      return taso_op::kConv;
    case Kind::kAveragePool:
      return taso_op::kAvgPool;
    case Kind::kMaxPool:
      return taso_op::kMaxPool;
    case Kind::kRelu:
      return taso_op::kRelu;
    case Kind::kSigmoid:
      return taso_op::kSigmoid;
    case Kind::kTanh:
      return taso_op::kTanh;
    case Kind::kSoftmax:
      return taso_op::kSoftmax;
    case Kind::kReduceSum:
      return taso_op::kReduceSum;
    case Kind::kReshape:
      return taso_op::kReshape;
    case Kind::kConcat:
      return taso_op::kConcat;
    case Kind::kSplitFirst:
    case Kind::kSplitSecond:
      return taso_op::kSplit;
    case Kind::kTranspose:
      return taso_op::kTranspose;
    case Kind::kEnlarge:
      return taso_op::kEnlarge;
    case Kind::kIdentityMatrix:
      return taso_op::kIdentityMatrix;
    case Kind::kIdentityConv:
      return taso_op::kIdentityConv;
    case Kind::kOne:
      return taso_op::kOne;
    case Kind::kPoolKernel:
      return taso_op::kPoolKernel;
  }
  return 0;
}

std::map<int, int> parameters_of(const Operator& op) {
  switch (op.kind) {
    case Kind::kConv:
    case Kind::kConvRelu:
      return {{taso_key::kStrideHeight, 1},
              {taso_key::kStrideWidth, 1},
              {taso_key::kPadding, 0},
              {taso_key::kActivation, op.kind == Kind::kConvRelu ? 2 : 0}};
    case Kind::kMatMul:
      return {{taso_key::kActivation, 0}};
    case Kind::kAveragePool:
    case Kind::kMaxPool:
      return {{taso_key::kKernelHeight, 3}, {taso_key::kKernelWidth, 3},
              {taso_key::kStrideHeight, 1}, {taso_key::kStrideWidth, 1},
              {taso_key::kPadding, 0},      {taso_key::kActivation, 0}};
    case Kind::kConcat:
      return {{taso_key::kInputs, 2}, {taso_key::kAxis, op.axis}, {taso_key::kRank, op.rank}};
    case Kind::kSplitFirst:
    case Kind::kSplitSecond:
      return {{taso_key::kOutputs, 2}, {taso_key::kAxis, op.axis}};
    case Kind::kTranspose:
      return {{taso_key::kRank, 2}, {taso_key::kPermutation, 2}};
    case Kind::kEnlarge:
    case Kind::kIdentityConv:
    case Kind::kPoolKernel:
      return {{taso_key::kKernelHeight, 3}, {taso_key::kKernelWidth, 3}};
    case Kind::kOne:
      return {{taso_key::kRank, op.rank}};
    case Kind::kSoftmax:
    case Kind::kReshape:
      return {{taso_key::kAxis, op.axis}, {taso_key::kRank, 2}};
    case Kind::kReduceSum:
      return {{taso_key::kAxis, op.axis}, {taso_key::kRank, 2}, {taso_key::kKeepDims, 1}};
    default:
      return {};
  }
}

class Converter {
 public:
  Converter(const Identity& identity, const std::vector<Operator>& operators)
      : identity_(identity), operators_(operators) {}

  TasoRule run() {
    std::vector<TasoTensor> left, right;
    for (const int root : identity_.left) left.push_back(tensor(root, rule_.source, source_));
    for (const int root : identity_.right) right.push_back(tensor(root, rule_.target, target_));
    for (size_t i = 0; i < left.size(); ++i) rule_.outputs.push_back({left[i], right[i]});
    return std::move(rule_);
  }

 private:
  TasoTensor tensor(int at, std::vector<TasoOp>& side, std::map<int, TasoTensor>& known) {
    const Identity::Node& node = identity_.nodes[static_cast<size_t>(at)];
    if (node.op < 0) {
      const auto next = static_cast<int>(numbers_.size()) + 1;
      return {-numbers_.emplace(node.variable, next).first->second, 0};
    }
    if (const auto found = known.find(at); found != known.end()) return found->second;
    const Operator& op = operators_[static_cast<size_t>(node.op)];
    TasoOp made;
    made.type = type_of(op.kind);
    made.parameters = parameters_of(op);
    for (const int operand : {node.a, node.b})
      if (operand >= 0) made.inputs.push_back(tensor(operand, side, known));
    const int output = op.kind == Kind::kSplitSecond ? 1 : 0;
    TasoTensor result{static_cast<int>(side.size()), output};
    for (size_t i = 0; i < side.size(); ++i)
      if (is_split(op.kind) && side[i].type == made.type && side[i].inputs == made.inputs &&
          side[i].parameters == made.parameters)
        result.op = static_cast<int>(i);
    if (result.op == static_cast<int>(side.size())) side.push_back(std::move(made));
    return known[at] = result;
  }

  const Identity& identity_;
  const std::vector<Operator>& operators_;
  TasoRule rule_;
  std::map<int, int> numbers_;
  std::map<int, TasoTensor> source_, target_;
};

}  // namespace

TasoRule to_taso(const Identity& identity, const std::vector<Operator>& operators) {
  return Converter(identity, operators).run();
}

}  // namespace reverie::generate
