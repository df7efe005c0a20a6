#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/base/error.h"
#include "core/onnx/convert.h"
#include "core/onnx/tensors.h"

namespace reverie::proto {
namespace {

const onnx::TensorProto* tensor_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name && attribute.has_t()) return &attribute.t();
  return nullptr;
}

Values stored(Source& source, Tensor tensor) {
  return {source.graph.add_constant(Weight::dense(std::move(tensor), source.node.output(0)))};
}

template <typename T, typename Range>
Tensor list(const Range& values) {
  const std::vector<T> copy(values.begin(), values.end());
  return Tensor::of<T>({static_cast<int64_t>(copy.size())}, copy);
}

std::optional<Values> constant(Source& source) {
  for (const auto& attribute : source.node.attribute()) {
    const std::string& name = attribute.name();
    if (name == "value" && size_of(dtype_of(attribute.t().data_type())) > 0)
      return Values{source.graph.add_constant(
          read_constant(attribute.t(), source.node.output(0), source.files))};
    if (name == "value_float") return stored(source, Tensor::of<float>({}, {attribute.f()}));
    if (name == "value_int") return stored(source, Tensor::of<int64_t>({}, {attribute.i()}));
    if (name == "value_floats") return stored(source, list<float>(attribute.floats()));
    if (name == "value_ints") return stored(source, list<int64_t>(attribute.ints()));
  }
  return std::nullopt;
}

std::optional<Values> constant_of_shape(Source& source) {
  const auto shape = source.constant_integers(0);
  if (!shape) return std::nullopt;
  require_sane(*shape);
  TensorType type = {DType::kFloat32, *shape};
  double value = 0;
  if (const onnx::TensorProto* given = tensor_attribute(source.node, "value")) {
    const Tensor element = read_tensor(*given, source.files);
    if (element.elements() != 1) throw InputError("its value should have one element");
    type.dtype = element.type().dtype;
    value = element.to_doubles()[0];
    if (!is_floating(type.dtype) && std::abs(value) > kExactIntegers) return std::nullopt;
  }
  return Values{source.graph.add_constant(Weight::fill(type, value, source.node.output(0)))};
}

std::optional<Values> identity(Source& source) { return source.inputs; }

/// Where nothing is dropped, the mask is true everywhere.
std::optional<Values> dropout(Source& source) {
  constexpr int kMaskSettledSince = 12;
  if (source.wants_output(1) && source.opset < kMaskSettledSince) return std::nullopt;
  if (source.has_input(2)) {
    const auto training = source.constant(2);
    if (!training || training->elements() != 1 || training->to_integers()[0] != 0)
      return std::nullopt;
  }
  Values results = {source.inputs[0]};
  if (source.wants_output(1))
    results.push_back(
        source.graph.add_constant(Weight::constant({DType::kBool, source.type(0).shape}, 1)));
  return results;
}

std::optional<Values> shape_of(Source& source) {
  const Shape& shape = source.type(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto position = [&](std::string_view name, int64_t otherwise) {
    const int64_t at = source.attributes.integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = position("start", 0);
  const int64_t end = std::max(position("end", rank), start);
  return stored(source, list<int64_t>(Shape(shape.begin() + start, shape.begin() + end)));
}

std::optional<Values> size(Source& source) {
  return stored(source, Tensor::of<int64_t>({}, {source.type(0).elements()}));
}

}  // namespace

Converter constant_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {
      {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
      {"Identity", identity}, {"Dropout", dropout},
      {"Shape", shape_of},    {"Size", size}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
