#include <cmath>
#include <unordered_map>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/ir/formula.h"
#include "core/onnx/convert.h"
#include "core/onnx/fold_constants.h"

namespace reverie::proto {
namespace {

/// The only element of the constant input as the attribute `name`. False when it is not constant,
/// or no whole number; the depth of OneHot may have any type.
bool take_integer(Source& source, std::string_view name, size_t input) {
  if (!source.has_input(input)) return true;
  const auto value = source.constant(input);
  if (!value || value->elements() != 1) return false;
  const double number = value->to_doubles()[0];
  if (!(std::abs(number) <= kExactIntegers) || number != std::trunc(number)) return false;
  source.attributes.set(name, static_cast<int64_t>(number));
  return true;
}

std::optional<Values> with_integer(Source& source, std::string_view name) {
  if (!take_integer(source, name, 1)) return std::nullopt;
  source.inputs.resize(1);
  return convert_as_is(source);
}

std::optional<Values> top_k(Source& source) { return with_integer(source, "k"); }
std::optional<Values> trilu(Source& source) { return with_integer(source, "k"); }
std::optional<Values> cumulative_sum(Source& source) {
  if (!source.has_input(1)) throw InputError("has no axis");
  return with_integer(source, "axis");
}

/// Before opset 11 a negative index was out of range.
std::optional<Values> one_hot(Source& source) {
  if (source.opset < 11 || source.inputs.size() != 3) return std::nullopt;
  if (is_floating(source.type(0).dtype))
    source.inputs[0] = source.add("Cast", {source.inputs[0]}, {{"to", std::string("int64")}})[0];
  if (!take_integer(source, "depth", 1)) return std::nullopt;
  source.inputs.erase(source.inputs.begin() + 1);
  return convert_as_is(source);
}

/// Its name from opset 11 on.
std::optional<Values> scatter(Source& source) {
  return source.add("ScatterElements", source.inputs, source.attributes);
}

/// The elements themselves, not those that a comparison would draw in their place.
std::optional<Tensor> known(const Source& source, size_t input) {
  if (!source.has_input(input)) return std::nullopt;
  const WeightPtr& weight = source.graph.weight(source.graph.producer(source.inputs[input]));
  if (weight == nullptr || stands_for_weights(*weight)) return std::nullopt;
  return weight->materialize();
}

std::optional<Values> nonzero(Source& source) {
  const auto tensor = known(source, 0);
  if (!tensor) return std::nullopt;
  const Tensor places = evaluate_node(op_named("NonZero"), {}, {&*tensor, 1})[0];
  return Values{source.graph.add_constant(Weight::dense(places, source.node.output(0)))};
}

std::optional<Values> compress(Source& source) {
  const auto condition = known(source, 1);
  if (!condition || condition->type().dtype != DType::kBool || condition->shape().size() != 1)
    return std::nullopt;
  const Tensor places = evaluate_node(op_named("NonZero"), {}, {&*condition, 1})[0];
  const ValueId indices =
      source.graph.add_constant(Weight::dense(places.reshaped({places.elements()})));
  if (source.attributes.has("axis"))
    return source.add("Gather", {source.inputs[0], indices}, source.attributes);
  const Shape flat = {source.type(0).elements()};
  const Values list = source.add("Reshape", {source.inputs[0]}, {{"shape", flat}});
  return source.add("Gather", {list[0], indices});
}

/// Known from the input's type alone.
std::optional<Values> eye_like(Source& source) {
  TensorType type = source.type(0);
  if (type.rank() != 2) throw InputError("needs a matrix, not {}", to_string(type.shape));
  if (source.attributes.has("dtype"))
    type.dtype = dtype_of(static_cast<int32_t>(source.attributes.integer("dtype")));
  constexpr int64_t kMaxElements = 1 << 24;
  if (size_of(type.dtype) == 0 || type.elements() > kMaxElements) return std::nullopt;
  Tensor ones({DType::kFloat64, type.shape});
  const int64_t k = source.attributes.integer("k", 0);
  const auto elements = ones.data<double>();
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    elements[i] = at % type.shape[1] - at / type.shape[1] == k ? 1 : 0;
  }
  const Tensor result = ones.cast(type.dtype);
  const WeightPtr formula = known_weight(result);
  return Values{source.graph.add_constant(
      formula != nullptr ? formula : Weight::known(result, source.node.output(0)))};
}

}  // namespace

Converter indexing_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {
      {"TopK", top_k},        {"Trilu", trilu},     {"CumSum", cumulative_sum},
      {"OneHot", one_hot},    {"Scatter", scatter}, {"NonZero", nonzero},
      {"Compress", compress}, {"EyeLike", eye_like}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
