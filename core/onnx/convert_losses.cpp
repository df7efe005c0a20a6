#include "core/base/error.h"
#include "core/onnx/convert.h"

namespace reverie::proto {
namespace {

ValueId scalar(Source& source, double value, DType dtype) {
  return source.graph.add_constant(Weight::dense(Tensor::of<double>({}, {value}).cast(dtype)));
}

ValueId reduced(Source& source, const char* op, ValueId value) {
  return source.add(op, {value}, {{"keepdims", int64_t{0}}})[0];
}

/// ONNX operator specification, NegativeLogLikelihoodLoss.
ValueId loss_of(Source& source, ValueId log_probabilities) {
  const std::string reduction = source.attributes.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    throw InputError("reduction '{}' is neither mean, sum nor none", reduction);
  const DType dtype = source.graph.type(log_probabilities).dtype, whole = source.type(1).dtype;
  const bool ignores = source.attributes.has("ignore_index");
  ValueId target = source.inputs[1], ignored, factor;
  if (ignores) {
    const auto index = static_cast<double>(source.attributes.integer("ignore_index"));
    ignored = source.add("Equal", {target, scalar(source, index, whole)})[0];
    target = source.add("Where", {ignored, scalar(source, 0, whole), target})[0];
  }
  const Attributes channel = {{"axes", std::vector<int64_t>{1}}};
  const ValueId places = source.add("Unsqueeze", {target}, channel)[0];
  const ValueId picked =
      source.add("GatherElements", {log_probabilities, places}, {{"axis", int64_t{1}}})[0];
  ValueId loss = source.add("Neg", {source.add("Squeeze", {picked}, channel)[0]})[0];
  if (source.has_input(2))
    factor = source.add("Gather", {source.inputs[2], target}, {{"axis", int64_t{0}}})[0];
  if (ignores) {
    const ValueId others = factor.valid() ? factor : scalar(source, 1, dtype);
    factor = source.add("Where", {ignored, scalar(source, 0, dtype), others})[0];
  }
  if (factor.valid()) loss = source.add("Mul", {loss, factor})[0];
  if (reduction == "none") return loss;
  if (reduction == "mean" && !factor.valid()) return reduced(source, "ReduceMean", loss);
  const ValueId total = reduced(source, "ReduceSum", loss);
  if (reduction == "sum") return total;
  return source.add("Div", {total, reduced(source, "ReduceSum", factor)})[0];
}

std::optional<Values> negative_log_likelihood(Source& source) {
  if (!source.has_input(1)) throw InputError("has no target");
  return Values{loss_of(source, source.inputs[0])};
}

std::optional<Values> softmax_cross_entropy(Source& source) {
  if (!source.has_input(1)) throw InputError("has no labels");
  const ValueId logs = source.add("LogSoftmax", {source.inputs[0]}, {{"axis", int64_t{1}}})[0];
  return Values{loss_of(source, logs), logs};
}

}  // namespace

Converter loss_rule(std::string_view op) {
  if (op == "NegativeLogLikelihoodLoss") return negative_log_likelihood;
  return op == "SoftmaxCrossEntropyLoss" ? softmax_cross_entropy : nullptr;
}

}  // namespace reverie::proto
