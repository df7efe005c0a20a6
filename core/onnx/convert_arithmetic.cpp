#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/onnx/convert.h"
#include "core/onnx/newer_opsets.h"

namespace reverie::proto {
namespace {

/// Before opset 13 the axes from `axis` on count as one.
std::optional<Values> softmax(Source& source) {
  const std::string& op = source.node.op_type();
  if (source.opset >= 13) return convert_as_is(source);
  const TensorType& type = source.type(0);
  const int64_t given = source.attributes.integer("axis", 1);
  if (given == type.rank()) return std::nullopt;
  const auto axis = static_cast<size_t>(normalize_axis(given, type.rank()));
  const Shape shape = type.shape;
  const Shape outer(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(axis));
  const Shape inner(shape.begin() + static_cast<ptrdiff_t>(axis), shape.end());
  if (element_count(inner) == inner[0])
    return source.add(op, {source.inputs[0]}, {{"axis", static_cast<int64_t>(axis)}});
  const Shape matrix = {element_count(outer), element_count(inner)};
  const Values flat = source.add("Reshape", {source.inputs[0]}, {{"shape", matrix}});
  const Values result = source.add(op, {flat[0]}, {{"axis", int64_t{1}}});
  return source.add("Reshape", {result[0]}, {{"shape", shape}});
}

std::optional<Values> cast(Source& source) {
  const DType to = dtype_of(static_cast<int32_t>(source.attributes.integer("to")));
  if (size_of(to) == 0 || size_of(source.type(0).dtype) == 0) return std::nullopt;
  return source.add("Cast", {source.inputs[0]}, {{"to", std::string(name_of(to))}});
}

/// Newer attributes are of types and blocks that the table does not have.
std::optional<Values> quantizer(Source& source) {
  source.attributes.erase("saturate");
  for (const char* name : {"block_size", "output_dtype"}) source.leave_out(name, int64_t{0});
  return convert_as_is(source);
}

/// Variadic operators as a chain of binary ones.
std::optional<Values> chain(Source& source, const char* op) {
  ValueId result = source.inputs[0];
  for (size_t i = 1; i < source.inputs.size(); ++i)
    result = source.add(op, {result, source.inputs[i]})[0];
  return Values{result};
}

/// As the second input.
std::optional<Values> cast_like(Source& source) {
  if (!source.has_input(1)) throw InputError("has no input to be like");
  return source.add("Cast", {source.inputs[0]},
                    {{"to", std::string(name_of(source.type(1).dtype))}});
}

std::optional<Values> mean(Source& source) {
  const auto sum = chain(source, "Add");
  const auto count = static_cast<double>(source.inputs.size());
  const Tensor divisor = Tensor::of<double>({}, {count}).cast(source.graph.type(sum->at(0)).dtype);
  return source.add("Div", {sum->at(0), source.graph.add_constant(Weight::dense(divisor))});
}

/// Until opset 20 scale and bias have an element for each group, then for each channel.
std::optional<Values> group_normalization(Source& source) {
  source.leave_out("stash_type", int64_t{1});
  if (source.has_input(2) && source.type(0).rank() > 1) {
    const int64_t factors = source.opset < kScaledByChannelSince
                                ? source.attributes.integer("num_groups", 0)
                                : source.type(0).shape[1];
    if (source.type(1).elements() != factors)
      throw InputError("the scale should have {} elements, not {}", factors,
                       source.type(1).elements());
  }
  return convert_as_is(source);
}

std::optional<Values> sum(Source& source) { return chain(source, "Add"); }
std::optional<Values> minimum(Source& source) { return chain(source, "Min"); }
std::optional<Values> maximum(Source& source) { return chain(source, "Max"); }

}  // namespace

Converter arithmetic_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {
      {"Softmax", softmax},
      {"LogSoftmax", softmax},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Sum", sum},
      {"Mean", mean},
      {"Min", minimum},
      {"Max", maximum},
      {"Einsum", convert_einsum},
      {"GroupNormalization", group_normalization},
      {"QuantizeLinear", quantizer},
      {"DequantizeLinear", quantizer}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
