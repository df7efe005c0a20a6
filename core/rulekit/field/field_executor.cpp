#include "core/rulekit/field/field_executor.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/exec/reference/kernels.h"
#include "core/ir/operator_column.h"
#include "core/rulekit/field/kernels.h"
#include "core/rulekit/field/prime_field.h"

namespace reverie {
namespace field {

uint64_t element_of(double number) {
  constexpr int kMostDenominator = 64;
  const auto rounded = static_cast<float>(number);
  if (!std::isfinite(rounded)) throw InputError("{} is no element of the field", number);
  if (rounded == std::trunc(rounded)) return of_number(rounded);
  for (int denominator = 3; denominator <= kMostDenominator; ++denominator) {
    const double numerator = std::round(double{rounded} * denominator);
    if (numerator != 0 && std::abs(numerator) <= kMostDenominator &&
        static_cast<float>(numerator / denominator) == rounded)
      return multiply(of_integer(static_cast<int64_t>(numerator)),
                      inverse(static_cast<uint64_t>(denominator)));
  }
  return of_number(rounded);
}

std::span<const uint64_t> Call::data(size_t index) const {
  const Tensor& tensor = inputs[index].elements;
  if (tensor.type().dtype != DType::kUInt64)
    throw InputError("input {} is no floating tensor", index);
  return tensor.data<uint64_t>();
}

FieldTensor Call::new_output(FieldDegree degree) const {
  FieldTensor result{Tensor({DType::kUInt64, outputs[0].shape}), degree};
  const auto elements = result.elements.data<uint64_t>();
  std::fill(elements.begin(), elements.end(), uint64_t{0});
  return result;
}

namespace {

const Kernel* find_kernel(const OpSchema& op) {
  static const OperatorColumn<Kernel> kernels = [] {
    std::vector<std::pair<std::string_view, Kernel>> rows;
    for (const auto family :
         {elementwise_kernels, linear_kernels, reduction_kernels, movement_kernels})
      for (const Kernel& row : family()) rows.emplace_back(row.op, row);
    return OperatorColumn(rows);
  }();
  return kernels.find(op);
}

DType held_as(DType dtype) {
  return is_floating(dtype) ? DType::kUInt64 : reference::carrier_of(dtype);
}

/// Kernels of the reference executor that move elements take those of the field, too; on integers
/// and bools any of them serves.
std::vector<FieldTensor> run_reference(const reference::KernelRow& kernel, const Call& call) {
  std::vector<Tensor> inputs;
  FieldDegree degree;
  for (const FieldTensor& input : call.inputs) {
    inputs.push_back(input.elements);
    degree = larger_degree(degree, input.degree);
  }
  std::vector<TensorType> outputs;
  for (const TensorType& type : call.outputs) outputs.push_back({held_as(type.dtype), type.shape});
  std::vector<FieldTensor> results;
  for (Tensor& result : kernel.run({inputs, outputs, call.attributes}))
    results.push_back({std::move(result), degree});
  return results;
}

/// Which operators compute nothing from floats; OneHot puts them in places that integers name.
bool computes_nothing(const OpSchema& op) { return op.moves || op.is("Shape") || op.is("OneHot"); }

bool moves_floats(const Call& call) {
  const auto floating = [](const FieldTensor& tensor) {
    return tensor.elements.type().dtype == DType::kUInt64;
  };
  return std::any_of(call.inputs.begin(), call.inputs.end(), floating) ||
         std::any_of(call.outputs.begin(), call.outputs.end(),
                     [](const TensorType& type) { return is_floating(type.dtype); });
}

std::vector<FieldTensor> run_node(const OpSchema& op, const Call& call) {
  const reference::KernelRow* reference = reference::find_kernel(op);
  if (reference != nullptr && !moves_floats(call)) return run_reference(*reference, call);
  if (const Kernel* kernel = find_kernel(op))
    return with_context(op.name, [&] { return kernel->run(call); });
  if (reference == nullptr || !computes_nothing(op))
    throw InputError("operator {} has no meaning over the prime field", op.name);
  return run_reference(*reference, call);
}

}  // namespace
}  // namespace field

bool FieldExecutor::supports(const OpSchema& op) {
  return &op == &input_op() || &op == &constant_op() || field::find_kernel(op) != nullptr ||
         field::computes_nothing(op);
}

std::vector<FieldTensor> FieldExecutor::run(const Graph& graph, std::span<const FieldTensor> inputs,
                                            const Weights& weights) {
  REVERIE_CHECK_EQ(inputs.size(), graph.inputs().size());
  std::vector<FieldTensor> values(static_cast<size_t>(graph.value_capacity()));
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(graph.output(graph.inputs()[i]).index)] = inputs[i];
  for (const NodeId node : graph.topological_order()) {
    const OpSchema& op = graph.op(node);
    if (&op == &input_op()) continue;
    if (&op == &constant_op()) {
      values[static_cast<size_t>(graph.output(node).index)] = weights(*graph.weight(node));
      continue;
    }
    std::vector<FieldTensor> arguments;
    for (const ValueId input : graph.inputs(node))
      arguments.push_back(input.valid() ? values[static_cast<size_t>(input.index)] : FieldTensor{});
    const std::vector<TensorType> types = output_types(graph, node);
    std::vector<FieldTensor> results =
        field::run_node(op, {op.name, arguments, types, graph.attributes(node), functions_});
    for (size_t i = 0; i < results.size(); ++i)
      values[static_cast<size_t>(graph.outputs(node)[i].index)] = std::move(results[i]);
  }
  std::vector<FieldTensor> results;
  for (const GraphOutput& output : graph.outputs())
    results.push_back(values[static_cast<size_t>(output.value.index)]);
  return results;
}

FieldTensor draw_field_tensor(const TensorType& type, Rng rng) {
  REVERIE_CHECK(is_floating(type.dtype));
  FieldTensor result{Tensor({DType::kUInt64, type.shape}), {1, 0}};
  for (uint64_t& element : result.elements.data<uint64_t>()) element = rng.below(field::kPrime);
  return result;
}

FieldTensor to_field(const Tensor& tensor) {
  const DType dtype = tensor.type().dtype;
  if (!is_floating(dtype)) return {tensor.cast(reference::carrier_of(dtype)), {}};
  FieldTensor result{Tensor({DType::kUInt64, tensor.shape()}), {}};
  const std::vector<double> numbers = tensor.to_doubles();
  const auto elements = result.elements.data<uint64_t>();
  std::transform(numbers.begin(), numbers.end(), elements.begin(), field::element_of);
  return result;
}

}  // namespace reverie
