#include <algorithm>
#include <array>
#include <string>

#include "core/base/error.h"
#include "core/exec/reference/indexing.h"
#include "core/rulekit/field/kernels.h"
#include "core/rulekit/field/prime_field.h"

namespace reverie::field {
namespace {

using reference::broadcast_strides;
using reference::for_each_run;
using reference::Run;

template <typename F>
FieldTensor mapped(const Call& call, FieldDegree degree, F&& f) {
  FieldTensor result = call.new_output(degree);
  const auto from = call.data(0);
  const auto to = result.elements.data<uint64_t>();
  std::transform(from.begin(), from.end(), to.begin(), f);
  return result;
}

template <typename F>
FieldTensor zipped(const Call& call, FieldDegree degree, F&& f) {
  FieldTensor result = call.new_output(degree);
  const uint64_t* a = call.data(0).data();
  const uint64_t* b = call.data(1).data();
  uint64_t* to = result.elements.data<uint64_t>().data();
  const Shape& shape = result.elements.shape();
  for_each_run(
      shape, {broadcast_strides(call.shape(0), shape), broadcast_strides(call.shape(1), shape)},
      [&](const Run& run) {
        for (int64_t i = 0; i < run.count; ++i)
          to[run.first + i] =
              f(a[run.offsets[0] + i * run.steps[0]], b[run.offsets[1] + i * run.steps[1]]);
      });
  return result;
}

std::vector<FieldTensor> sum(const Call& call) {
  return {zipped(call, degree_of_sum(call.degree(0), call.degree(1)), add)};
}
std::vector<FieldTensor> difference(const Call& call) {
  return {zipped(call, degree_of_sum(call.degree(0), call.degree(1)), subtract)};
}
std::vector<FieldTensor> product(const Call& call) {
  return {zipped(call, degree_of_product(call.degree(0), call.degree(1)), multiply)};
}
std::vector<FieldTensor> quotient(const Call& call) {
  return {zipped(call, degree_of_quotient(call.degree(0), call.degree(1)),
                 [&](uint64_t x, uint64_t y) { return divide(call, x, y); })};
}

std::vector<FieldTensor> opposite(const Call& call) {
  return {mapped(call, call.degree(0), negate)};
}
std::vector<FieldTensor> reciprocal(const Call& call) {
  return {mapped(call, degree_of_quotient({}, call.degree(0)),
                 [&](uint64_t x) { return divide(call, 1, x); })};
}

/// What a random function gives for an element: the value that counts as a variable of its own.
FieldDegree degree_of_value(FieldDegree argument) { return larger_degree(argument, {1, 0}); }

FieldTensor applied(const Call& call, const std::string& function, FieldTensor tensor) {
  const uint64_t number =
      call.functions.declare(function, tensor.elements.elements(), tensor.degree);
  for (uint64_t& x : tensor.elements.data<uint64_t>())
    x = call.functions.value(number, std::array{x});
  tensor.degree = {1, 0};
  return tensor;
}

void apply_relu(const Call& call, FieldTensor& tensor) {
  const auto elements = tensor.elements.data<uint64_t>();
  call.functions.declare_extreme(FieldFunctions::Extreme::kGreatest,
                                 2 * static_cast<int64_t>(elements.size()), tensor.degree);
  for (uint64_t& x : elements) x = call.functions.relu(x);
  tensor.degree = degree_of_value(tensor.degree);
}

FieldTensor copy_of_input(const Call& call) {
  call.data(0);  // that it is a floating tensor
  return {call.inputs[0].elements.clone(), call.degree(0)};
}

std::vector<FieldTensor> relu(const Call& call) {
  FieldTensor result = copy_of_input(call);
  apply_relu(call, result);
  return {result};
}

/// A function of one element that the operator's name and attributes determine.
std::vector<FieldTensor> function(const Call& call) {
  std::string name(call.op);
  for (const auto& [attribute, value] : call.attributes.entries())
    name += " " + attribute + "=" + to_string(value);
  return {applied(call, name, copy_of_input(call))};
}

template <FieldFunctions::Extreme kWhich>
std::vector<FieldTensor> extreme(const Call& call) {
  const FieldDegree degree = larger_degree(call.degree(0), call.degree(1));
  call.functions.declare_extreme(kWhich, 2 * element_count(call.outputs[0].shape), degree);
  return {zipped(call, degree_of_value(degree), [&](uint64_t a, uint64_t b) {
    return call.functions.extreme(kWhich, std::array{a, b});
  })};
}

/// Small whole exponents that are the same everywhere are exact, others a random function.
std::vector<FieldTensor> powers(const Call& call) {
  constexpr uint64_t kLargest = 64;
  const bool floating = call.inputs[1].elements.type().dtype == DType::kUInt64;
  const FieldTensor exponents =
      floating ? call.inputs[1] : to_field(call.inputs[1].elements.cast(DType::kFloat64));
  const auto e = exponents.elements.data<uint64_t>();
  const bool whole = !e.empty() && e[0] <= kLargest &&
                     std::all_of(e.begin(), e.end(), [&](uint64_t x) { return x == e[0]; });
  const std::vector<FieldTensor> operands = {call.inputs[0], exponents};
  const Call both{call.op, operands, call.outputs, call.attributes, call.functions};
  if (whole) {
    const auto n = static_cast<double>(e[0]);
    return {zipped(both, {n * call.degree(0).numerator, n * call.degree(0).denominator}, power)};
  }
  const uint64_t number = call.functions.declare("Pow", element_count(call.outputs[0].shape),
                                                 larger_degree(call.degree(0), exponents.degree));
  return {zipped(both, {1, 0}, [&](uint64_t a, uint64_t b) {
    return call.functions.value(number, std::array{a, b});
  })};
}

/// Between floating types nothing changes; integers become the elements that they are.
std::vector<FieldTensor> cast(const Call& call) {
  if (!is_floating(call.outputs[0].dtype))
    throw InputError("a floating number made an integer has no meaning over the prime field");
  if (call.inputs[0].elements.type().dtype == DType::kUInt64) return {call.inputs[0]};
  FieldTensor result = call.new_output({});
  const std::vector<int64_t> from = call.inputs[0].elements.cast(DType::kInt64).to_integers();
  std::transform(from.begin(), from.end(), result.elements.data<uint64_t>().begin(), of_integer);
  return {result};
}

}  // namespace

uint64_t divide(const Call& call, uint64_t x, uint64_t y) {
  if (y == 0) call.functions.note_division_by_zero();
  return multiply(x, inverse(y));
}

namespace {

/// result = f(result, input `index`), broadcast.
template <typename F>
void combine(const Call& call, FieldTensor& result, size_t index, F&& f) {
  const uint64_t* from = call.data(index).data();
  uint64_t* to = result.elements.data<uint64_t>().data();
  const Shape& shape = result.elements.shape();
  for_each_run(shape, {broadcast_strides(call.shape(index), shape)}, [&](const Run& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      uint64_t& x = to[run.first + i];
      x = f(x, from[run.offsets[0] + i * run.steps[0]]);
    }
  });
}

}  // namespace

void scale(const Call& call, FieldTensor& result, size_t index) {
  combine(call, result, index, multiply);
  result.degree = degree_of_product(result.degree, call.degree(index));
}

void add_scaled(const Call& call, FieldTensor& result, size_t index, uint64_t scale) {
  combine(call, result, index, [&](uint64_t x, uint64_t y) { return add(x, multiply(scale, y)); });
  result.degree = degree_of_sum(result.degree, call.degree(index));
}

void activate(const Call& call, std::string_view activation, FieldTensor& tensor) {
  if (activation == "relu")
    apply_relu(call, tensor);
  else if (activation == "sigmoid")
    tensor = applied(call, "Sigmoid", std::move(tensor));
  else if (activation == "tanh")
    tensor = applied(call, "Tanh", std::move(tensor));
  else
    REVERIE_CHECK(activation == "none", "activation '{}'", activation);
}

std::vector<Kernel> elementwise_kernels() {
  using Extreme = FieldFunctions::Extreme;
  return {{"Add", sum},
          {"Sub", difference},
          {"Mul", product},
          {"Div", quotient},
          {"Neg", opposite},
          {"Reciprocal", reciprocal},
          {"Pow", powers},
          {"Cast", cast},
          {"Relu", relu},
          {"Max", extreme<Extreme::kGreatest>},
          {"Min", extreme<Extreme::kLeast>},
          {"Sigmoid", function},
          {"Tanh", function},
          {"LeakyRelu", function},
          {"Elu", function},
          {"HardSigmoid", function},
          {"HardSwish", function},
          {"Softplus", function},
          {"Clip", function},
          {"Sqrt", function},
          {"Erf", function},
          {"Exp", function},
          {"Log", function},
          {"Abs", function},
          {"Floor", function},
          {"Ceil", function}};
}

}  // namespace reverie::field
