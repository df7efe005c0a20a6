#include <algorithm>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

using Check = void (*)(const TensorType&);
void anything(const TensorType&) {}
void require_bool(const TensorType& type) { require_dtype(type, DType::kBool, "input"); }
void require_whole(const TensorType& type) {
  if (is_floating(type.dtype) || type.dtype == DType::kBool)
    throw InputError("needs integers, not {}", name_of(type.dtype));
}

OpSchema unary(std::string name, Check check, range::Rule values,
               std::vector<AttrSpec> attributes = {}) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = 1;
  row.attributes = std::move(attributes);
  row.elementwise = true;
  row.range = values;
  row.infer = [check](const OpContext& node) {
    check(node.inputs[0]);
    return Types{node.inputs[0]};
  };
  row.flops = one_flop_per_output;
  return row;
}

OpSchema binary(std::string name, Check check, bool commutative, range::Rule values) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = 2;
  row.elementwise = true;
  row.commutative = commutative;
  row.range = values;
  row.infer = [check](const OpContext& node) {
    require_same_dtype(node);
    check(node.inputs[0]);
    return Types{{node.inputs[0].dtype, broadcast(node.inputs[0].shape, node.inputs[1].shape)}};
  };
  row.flops = one_flop_per_output;
  return row;
}

OpSchema comparison(std::string name, Check check, bool commutative) {
  OpSchema row = stepping(binary(std::move(name), check, commutative, nullptr));
  row.infer = [infer = row.infer](const OpContext& node) {
    return Types{{DType::kBool, infer(node)[0].shape}};
  };
  return row;
}

OpSchema power() {
  OpSchema row = binary("Pow", require_numeric, false, range::power);
  row.infer = [](const OpContext& node) {
    require_numeric(node.inputs[0]);
    require_numeric(node.inputs[1]);
    return Types{{node.inputs[0].dtype, broadcast(node.inputs[0].shape, node.inputs[1].shape)}};
  };
  row.steps = [](const OpContext& node) {
    return takes_floats(node) && !is_floating(node.inputs[0].dtype);
  };
  return row;
}

OpSchema where() {
  OpSchema row;
  row.name = "Where";
  row.range = range::choice;
  row.min_inputs = row.max_inputs = 3;
  row.elementwise = true;
  row.infer = [](const OpContext& node) {
    require_dtype(node.inputs[0], DType::kBool, "the condition");
    require_dtype(node.inputs[2], node.inputs[1].dtype, "the other choice");
    const Shape choices = broadcast(node.inputs[1].shape, node.inputs[2].shape);
    return Types{{node.inputs[1].dtype, broadcast(node.inputs[0].shape, choices)}};
  };
  row.flops = one_flop_per_output;
  return row;
}

OpSchema cast() {
  OpSchema row = unary("Cast", anything, range::as_first, {required("to")});
  row.infer = [](const OpContext& node) {
    const DType to = dtype_named(node.attributes.text("to"));
    if (size_of(to) == 0 || size_of(node.inputs[0].dtype) == 0)
      throw InputError("cannot convert {} to {}", name_of(node.inputs[0].dtype), name_of(to));
    return Types{{to, node.inputs[0].shape}};
  };
  row.steps = [](const OpContext& node) {
    return takes_floats(node) && !is_floating(dtype_named(node.attributes.text("to")));
  };
  return row;
}

OpSchema clip() {
  OpSchema row = unary("Clip", require_numeric, range::clip, {optional("min"), optional("max")});
  row.normalize = [](Attributes& attributes, std::span<const TensorType>) {
    for (const char* bound : {"min", "max"})
      if (attributes.has(bound)) attributes.set(bound, attributes.number(bound));
  };
  return row;
}

/// Passes its input on; costs nothing.
OpSchema pass_through(std::string name) {
  OpSchema row = unary(std::move(name), anything, range::as_first);
  row.flops = {};
  row.bytes = no_bytes;
  row.view = row.moves = true;
  return row;
}

OpSchema question(std::string name, std::vector<AttrSpec> attributes = {}) {
  OpSchema row = stepping(unary(std::move(name), require_floating, nullptr, std::move(attributes)));
  row.infer = [infer = row.infer](const OpContext& node) {
    return Types{{DType::kBool, infer(node)[0].shape}};
  };
  return row;
}

OpSchema gelu() {
  OpSchema row = unary("Gelu", require_floating, range::finite,
                       {{.name = "approximate", .fallback = std::string("none")}});
  row.infer = [infer = row.infer](const OpContext& node) {
    const std::string& approximate = node.attributes.text("approximate");
    if (approximate != "none" && approximate != "tanh")
      throw InputError("approximate '{}' is neither none nor tanh", approximate);
    return infer(node);
  };
  return row;
}

/// Gelu of the sum with a bias along the last axis.
OpSchema bias_gelu() {
  OpSchema row = gelu();
  row.name = "BiasGelu";
  row.min_inputs = row.max_inputs = 2;
  row.infer = [infer = row.infer](const OpContext& node) {
    require_same_dtype(node);
    const Shape& shape = node.inputs[0].shape;
    if (shape.empty()) throw InputError("cannot add a bias to a scalar");
    require_shape(node.inputs[1], {shape.back()}, "the bias");
    return infer(node);
  };
  row.flops = [](const OpContext& node) { return 2 * node.outputs[0].elements(); };
  return row;
}

OpSchema modulo() {
  OpSchema row = stepping(binary("Mod", require_numeric, false, nullptr));
  row.attributes = {{.name = "fmod", .fallback = int64_t{0}}};
  row.infer = [infer = row.infer](const OpContext& node) {
    if (is_floating(node.inputs[0].dtype) && node.attributes.integer("fmod") == 0)
      throw InputError("needs fmod=1 for floating-point elements");
    return infer(node);
  };
  return row;
}

OpSchema bit_shift() {
  OpSchema row = binary("BitShift", require_whole, false, nullptr);
  row.attributes = {required("direction")};
  row.infer = [infer = row.infer](const OpContext& node) {
    const std::string& direction = node.attributes.text("direction");
    if (direction != "LEFT" && direction != "RIGHT")
      throw InputError("direction '{}' is neither LEFT nor RIGHT", direction);
    return infer(node);
  };
  return row;
}

OpSchema parametric_relu() {
  OpSchema row = binary("PRelu", require_numeric, false, range::finite);
  row.infer = [](const OpContext& node) {
    require_same_dtype(node);
    require_floating(node.inputs[0]);
    require_broadcasts_to(node.inputs[1], node.inputs[0].shape, "the slope");
    return Types{node.inputs[0]};
  };
  return row;
}

}  // namespace

std::vector<OpSchema> unary_elementwise() {
  return {
      unary("Relu", require_numeric, range::non_negative),
      unary("Sigmoid", require_floating, range::non_negative),
      unary("Tanh", require_floating, range::finite),
      unary("LeakyRelu", require_floating, range::finite, {number("alpha", 0.01)}),
      unary("Elu", require_floating, range::finite, {number("alpha", 1.0)}),
      unary("HardSigmoid", require_floating, range::non_negative,
            {number("alpha", 0.2), number("beta", 0.5)}),
      unary("HardSwish", require_floating, range::finite),
      unary("Softplus", require_floating, range::non_negative),
      clip(),
      unary("Sqrt", require_floating, range::root),
      unary("Erf", require_floating, range::finite),
      unary("Exp", require_floating, nullptr),
      unary("Log", require_floating, range::logarithm),
      unary("Neg", require_numeric, range::finite),
      unary("Reciprocal", require_floating, range::reciprocal),
      unary("Abs", require_numeric, range::non_negative),
      stepping(unary("Floor", require_floating, range::finite)),
      stepping(unary("Ceil", require_floating, range::finite)),
      unary("Not", require_bool, nullptr),
      cast(),
      pass_through("Identity"),
      pass_through("Dropout"),
  };
}

std::vector<OpSchema> binary_elementwise() {
  return {
      binary("Add", require_numeric, true, range::sum),
      binary("Sub", require_numeric, false, range::finite),
      binary("Mul", require_numeric, true, range::product),
      binary("Div", require_numeric, false, range::quotient),
      power(),
      binary("Min", require_numeric, true, range::as_all),
      binary("Max", require_numeric, true, range::maximum),
      binary("And", require_bool, true, nullptr),
      binary("Or", require_bool, true, nullptr),
      comparison("Equal", anything, true),
      comparison("Greater", require_numeric, false),
      comparison("GreaterOrEqual", require_numeric, false),
      comparison("Less", require_numeric, false),
      comparison("LessOrEqual", require_numeric, false),
      where(),
  };
}

std::vector<OpSchema> further_elementwise() {
  return {
      modulo(),
      binary("Xor", require_bool, true, nullptr),
      bit_shift(),
      parametric_relu(),
      stepping(unary("Sign", require_numeric, range::finite)),
      stepping(unary("Round", require_floating, range::finite)),
      question("IsNaN"),
      question("IsInf", {{.name = "detect_negative", .fallback = int64_t{1}},
                         {.name = "detect_positive", .fallback = int64_t{1}}}),
      unary("Softsign", require_floating, range::finite),
      unary("Selu", require_floating, range::finite,
            {number("alpha", 1.6732632), number("gamma", 1.050701)}),
      unary("Celu", require_floating, range::finite, {number("alpha", 1.0)}),
      stepping(unary("ThresholdedRelu", require_floating, range::finite, {number("alpha", 1.0)})),
      gelu(),
      bias_gelu(),
      unary("Swish", require_floating, range::finite, {number("alpha", 1.0)}),
      unary("Sin", require_floating, range::finite),
      unary("Cos", require_floating, range::finite),
      unary("Tan", require_floating, nullptr),
      unary("Asin", require_floating, nullptr),
      unary("Acos", require_floating, nullptr),
      unary("Atan", require_floating, range::finite),
      unary("Sinh", require_floating, nullptr),
      unary("Cosh", require_floating, nullptr),
      unary("Asinh", require_floating, range::finite),
      unary("Acosh", require_floating, nullptr),
      unary("Atanh", require_floating, nullptr),
  };
}

}  // namespace reverie::ops
