#include <cmath>
#include <string_view>
#include <unordered_map>

#include "tools/eager/node.h"

namespace reverie::eager {
namespace {

using Unary = at::Tensor (*)(const at::Tensor&);
using Binary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

Kernel on_one(Unary f) {
  return one([f](Arguments x) { return f(x[0]); });
}
Kernel on_two(Binary f) {
  return one([f](Arguments x) { return f(x[0], x[1]); });
}

template <typename F>
F found(const std::unordered_map<std::string_view, F>& table, const OpSchema& op) {
  const auto at = table.find(op.name);
  return at == table.end() ? nullptr : at->second;
}

Kernel hard_sigmoid(double alpha, double beta) {
  constexpr double kOnnxExporters = 1e-5;  // write a sixth as a float
  if (std::fabs(alpha - 1.0 / 6) < kOnnxExporters && beta == 0.5) return on_one(at::hardsigmoid);
  return one([=](Arguments x) { return at::mul(x[0], alpha).add_(beta).clamp_(0, 1); });
}

Kernel clip(const Attributes& attributes) {
  c10::optional<at::Scalar> low, high;
  if (attributes.has("min")) low = attributes.number("min");
  if (attributes.has("max")) high = attributes.number("max");
  if (!low && !high) return one([](Arguments x) { return x[0]; });
  return one([=](Arguments x) { return at::clamp(x[0], low, high); });
}

Kernel with_attributes(const Node& node) {
  const Attributes& attributes = node.attributes();
  const auto alpha = [&] { return attributes.number("alpha"); };
  if (node.op.is("LeakyRelu"))
    return one([a = alpha()](Arguments x) { return at::leaky_relu(x[0], a); });
  if (node.op.is("Elu")) return one([a = alpha()](Arguments x) { return at::elu(x[0], a); });
  if (node.op.is("HardSigmoid")) return hard_sigmoid(alpha(), attributes.number("beta"));
  if (node.op.is("Softplus")) return one([](Arguments x) { return at::softplus(x[0]); });
  if (node.op.is("Clip")) return clip(attributes);
  return {};
}

/// By a number where the exponent is one, as a person would write it.
Kernel power(const Node& node) {
  if (node.weights[1] != nullptr && node.inputs[1].elements() == 1 && node.inputs[1].rank() == 0) {
    const double exponent = node.weights[1]->materialize().to_doubles().at(0);
    return one([=](Arguments x) { return at::pow(x[0], exponent); });
  }
  return one([](Arguments x) { return at::pow(x[0], x[1]); });
}

Kernel of_floats(const Node& node) {
  static const std::unordered_map<std::string_view, Unary> unary = {
      {"Sigmoid", at::sigmoid}, {"Tanh", at::tanh}, {"HardSwish", at::hardswish},
      {"Sqrt", at::sqrt},       {"Erf", at::erf},   {"Exp", at::exp},
      {"Log", at::log},         {"Floor", at::floor}, {"Ceil", at::ceil},
      {"Reciprocal", at::reciprocal},
  };
  if (const Unary f = found(unary, node.op)) return on_one(f);
  return with_attributes(node);
}

/// Of any numbers.
Unary of_number(const OpSchema& op) {
  static const std::unordered_map<std::string_view, Unary> unary = {
      {"Relu", at::relu}, {"Neg", at::neg}, {"Abs", at::abs}};
  return found(unary, op);
}

/// 16-bit floats are left alone where LibTorch computes in them badly or not at all.
bool computes_or_counts(const Node& node) {
  return computes(node) || (can_hold(node) && !is_floating(node.inputs[0].dtype));
}

}  // namespace

Kernel unary_kernel(const Node& node) {
  if (node.op.is("Identity") || node.op.is("Dropout"))
    return one([](Arguments x) { return x[0]; });
  if (node.op.is("Not") && can_hold(node)) return on_one(at::logical_not);
  if (node.op.is("Cast") && can_hold(node)) {
    const at::ScalarType to = scalar_type(node.outputs[0].dtype);
    return one([to](Arguments x) { return x[0].to(to); });
  }
  if (const Unary f = of_number(node.op); f != nullptr && computes_or_counts(node)) return on_one(f);
  return computes(node) ? of_floats(node) : Kernel();
}

Kernel binary_kernel(const Node& node) {
  static const std::unordered_map<std::string_view, Binary> of_numbers = {
      {"Add", [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }},
      {"Sub", [](const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }},
      {"Mul", at::mul},
      {"Min", at::minimum},
      {"Max", at::maximum},
      {"And", at::logical_and},
      {"Or", at::logical_or}};
  static const std::unordered_map<std::string_view, Binary> comparisons = {
      {"Equal", at::eq},         {"Greater", at::gt}, {"GreaterOrEqual", at::ge},
      {"Less", at::lt},          {"LessOrEqual", at::le}};
  if (const Binary f = found(of_numbers, node.op); f != nullptr && computes_or_counts(node))
    return on_two(f);
  if (const Binary f = found(comparisons, node.op); f != nullptr && can_hold(node)) return on_two(f);
  if (node.op.is("Where") && can_hold(node))
    return one([](Arguments x) { return at::where(x[0], x[1], x[2]); });
  if (node.op.is("Div") && computes(node)) return on_two(at::div);  // of integers it is another one
  if (node.op.is("Pow") && computes(node)) return power(node);
  return {};
}

}  // namespace reverie::eager
