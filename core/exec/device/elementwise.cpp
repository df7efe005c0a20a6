#include <algorithm>
#include <limits>
#include <string_view>

#include "core/base/error.h"
#include "core/exec/device/builder.h"
#include "core/exec/device/elements.h"
#include "core/ir/operator_column.h"

namespace reverie::device {
namespace {

const OperatorColumn<Function>& functions() {
  static const OperatorColumn<Function> column({
      {"Relu", Function::kRelu},
      {"Sigmoid", Function::kSigmoid},
      {"Tanh", Function::kTanh},
      {"LeakyRelu", Function::kLeakyRelu},
      {"Elu", Function::kElu},
      {"HardSigmoid", Function::kHardSigmoid},
      {"HardSwish", Function::kHardSwish},
      {"Softplus", Function::kSoftplus},
      {"Clip", Function::kClip},
      {"Sqrt", Function::kSqrt},
      {"Erf", Function::kErf},
      {"Exp", Function::kExp},
      {"Log", Function::kLog},
      {"Neg", Function::kNeg},
      {"Reciprocal", Function::kReciprocal},
      {"Abs", Function::kAbs},
      {"Floor", Function::kFloor},
      {"Ceil", Function::kCeil},
      {"Not", Function::kNot},
      {"Cast", Function::kIdentity},
      {"Add", Function::kAdd},
      {"Sub", Function::kSub},
      {"Mul", Function::kMul},
      {"Div", Function::kDiv},
      {"Pow", Function::kPow},
      {"Min", Function::kMin},
      {"Max", Function::kMax},
      {"And", Function::kAnd},
      {"Or", Function::kOr},
      {"Equal", Function::kEqual},
      {"Greater", Function::kGreater},
      {"GreaterOrEqual", Function::kGreaterOrEqual},
      {"Less", Function::kLess},
      {"LessOrEqual", Function::kLessOrEqual},
      {"Where", Function::kWhere},
  });
  return column;
}

bool is_integer(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

/// Which functions there are for integers without a floating operand.
bool takes_integers(Function function) {
  switch (function) {
    case Function::kIdentity:
    case Function::kRelu:
    case Function::kNeg:
    case Function::kAbs:
    case Function::kAdd:
    case Function::kSub:
    case Function::kMul:
    case Function::kMin:
    case Function::kMax:
    case Function::kEqual:
    case Function::kGreater:
    case Function::kGreaterOrEqual:
    case Function::kLess:
    case Function::kLessOrEqual:
    case Function::kWhere:
      return true;
    default:
      return false;
  }
}

/// Integers do not pass through float32 on their way.
bool types_fit(const Elementwise& call) {
  bool floats = false, integers = false;
  for (const Operand& operand : call.operands) {
    if (!is_device_float(operand.dtype) && !is_integer(operand.dtype) &&
        operand.dtype != DType::kBool)
      return false;
    floats = floats || is_device_float(operand.dtype);
    integers = integers || is_integer(operand.dtype);
  }
  if (!is_device_float(call.result) && !is_integer(call.result) && call.result != DType::kBool)
    return false;
  return !(floats && integers) && (!integers || takes_integers(call.function));
}

}  // namespace

Parameters parameters_of(const OpSchema& op, const Attributes& attributes) {
  constexpr double kHuge = std::numeric_limits<double>::infinity();
  if (op.is("Clip")) return {attributes.number("min", -kHuge), attributes.number("max", kHuge)};
  if (op.is("LeakyRelu") || op.is("Elu") || op.is("HardSigmoid"))
    return {attributes.number("alpha"), attributes.number("beta", 0)};
  return {};
}

bool add_elementwise(Builder& builder, Elementwise call, std::span<const ValueId> values,
                     ValueId result) {
  const TensorType type = builder.type(result);
  call.result = type.dtype;
  call.shape = type.shape;
  std::vector<BufferId> reads;
  for (const ValueId value : values) {
    call.operands.push_back(
        {builder.type(value).dtype, broadcast_strides(builder.type(value).shape, type.shape)});
    reads.push_back(builder.at(value));
  }
  if (type.elements() == 0 || !types_fit(call)) return false;
  Strides dense = row_major(call.shape);
  std::vector<Strides*> strides = {&dense};
  for (Operand& operand : call.operands) strides.push_back(&operand.strides);
  join_axes(call.shape, strides);
  if (call.shape.size() > static_cast<size_t>(kMaxAxes)) return false;
  return builder.add(call, std::move(reads), {builder.define(result)});
}

namespace {

bool lower_elementwise(Builder& builder, NodeId node) {
  const OpSchema& op = builder.graph().op(node);
  const Parameters parameters = parameters_of(op, builder.graph().attributes(node));
  Elementwise call{
      .function = *find_function(op), .alpha = parameters.alpha, .beta = parameters.beta};
  return add_elementwise(builder, std::move(call), builder.graph().inputs(node),
                         builder.graph().output(node));
}

}  // namespace

const Function* find_function(const OpSchema& op) { return functions().find(op); }

Lowering find_elementwise(const OpSchema& op) {
  return find_function(op) != nullptr ? lower_elementwise : nullptr;
}

bool lower_batch_normalization(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId result = builder.graph().output(node);
  const TensorType type = builder.type(result);
  Elementwise call{.function = Function::kNormalize,
                   .alpha = builder.graph().attributes(node).number("epsilon"),
                   .result = type.dtype,
                   .shape = {type.shape[0], type.shape[1],
                             element_count({type.shape.begin() + 2, type.shape.end()})},
                   .operands = {}};
  call.operands.push_back({type.dtype, row_major(call.shape)});
  std::vector<BufferId> reads = {builder.at(inputs[0])};
  for (size_t i = 1; i < inputs.size(); ++i) {
    call.operands.push_back({type.dtype, {0, 1, 0}});
    reads.push_back(builder.at(inputs[i]));
  }
  return builder.add(call, std::move(reads), {builder.define(result)});
}

}  // namespace reverie::device
