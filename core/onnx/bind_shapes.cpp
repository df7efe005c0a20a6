#include "core/onnx/bind_shapes.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/onnx/newer_opsets.h"

namespace reverie::proto {
namespace {

struct Binding {
  std::string name;
  Shape shape;
};

Binding parse(const std::string& text) {
  const size_t equals = text.rfind('=');
  Binding binding;
  const auto malformed = [&] {
    return InputError("shape '{}' should look like name=1,3,224,224", text);
  };
  if (equals == std::string::npos || equals == 0) throw malformed();
  binding.name = text.substr(0, equals);
  const char* at = text.data() + equals + 1;
  const char* const end = text.data() + text.size();
  while (at < end) {
    int64_t extent = -1;
    const auto result = std::from_chars(at, end, extent);
    if (result.ec != std::errc() || extent < 0) throw malformed();
    binding.shape.push_back(extent);
    at = result.ptr;
    if (at < end && (*at != ',' || ++at == end)) throw malformed();
  }
  require_sane(binding.shape);
  return binding;
}

std::string symbolic(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (const auto& dim : shape.dim()) {
    if (!text.empty()) text += ',';
    if (has_extent(dim)) text += std::to_string(dim.dim_value());
    else text += dim.dim_param().empty() ? "?" : dim.dim_param();
  }
  return text;
}

using Symbols = std::map<std::string, int64_t>;

void bind(const onnx::ValueInfoProto& input, const Shape& shape, Symbols* symbols) {
  const auto& tensor = input.type().tensor_type();
  if (!tensor.has_shape()) return;
  const auto mismatch = [&] {
    return InputError("input '{}' is {}, which {} does not fit", input.name(),
                      symbolic(tensor.shape()), to_string(shape));
  };
  if (tensor.shape().dim_size() != static_cast<int>(shape.size())) throw mismatch();
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    const int64_t extent = shape[static_cast<size_t>(i)];
    if (has_extent(dim) && dim.dim_value() != extent) throw mismatch();
    if (dim.dim_param().empty()) continue;
    const auto [known, added] = symbols->emplace(dim.dim_param(), extent);
    if (known->second != extent)
      throw InputError("dimension '{}' is {} in one input and {} in '{}'", dim.dim_param(),
                       known->second, extent, input.name());
  }
}

TensorType bound_type(const onnx::ValueInfoProto& input, const Symbols& symbols) {
  const auto& tensor = input.type().tensor_type();
  TensorType type = {dtype_of(tensor.elem_type()), {}};
  if (!tensor.has_shape())
    throw InputError("input '{}' has no shape; give it one with --shape {}=1,3,224,224",
                     input.name(), input.name());
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    const auto known = symbols.find(dim.dim_param());
    if (has_extent(dim)) {
      type.shape.push_back(dim.dim_value());
    } else if (!dim.dim_param().empty() && known != symbols.end()) {
      type.shape.push_back(known->second);
    } else {
      const std::string which = dim.dim_param().empty() ? std::to_string(i) : dim.dim_param();
      throw InputError(
          "input '{}' ({}) has no value for dimension '{}'; bind it with --shape {}=1,3,224,224",
          input.name(), symbolic(tensor.shape()), which, input.name());
    }
  }
  require_sane(type.shape);
  return type;
}

void require_valid_type(const onnx::ValueInfoProto& value) {
  const auto& type = value.type();
  const int32_t element = type.tensor_type().elem_type();
  if (type.has_tensor_type() && (element == onnx::TensorProto::UNDEFINED ||
                                 !is_element_type(element)))
    throw InputError("'{}' has elements of type {}, which ONNX does not know", value.name(),
                     element);
}

}  // namespace

std::map<std::string, TensorType> bind_inputs(const onnx::GraphProto& graph,
                                              const std::set<std::string>& constants,
                                              const std::vector<std::string>& bindings) {
  for (const auto& input : graph.input()) require_valid_type(input);
  for (const auto& output : graph.output()) require_valid_type(output);
  std::map<std::string, Shape> given;
  Symbols symbols;
  for (const std::string& text : bindings) {
    const Binding binding = parse(text);
    const auto is_it = [&](const auto& input) {
      return input.name() == binding.name && !constants.contains(input.name());
    };
    const auto input = std::find_if(graph.input().begin(), graph.input().end(), is_it);
    if (input == graph.input().end() || !input->type().has_tensor_type()) {
      std::string names;
      for (const auto& known : graph.input())
        if (!constants.contains(known.name())) names += (names.empty() ? "" : ", ") + known.name();
      throw InputError("shape given for '{}', but the inputs are: {}", binding.name, names);
    }
    bind(*input, binding.shape, &symbols);
    if (!given.emplace(binding.name, binding.shape).second)
      throw InputError("shape of '{}' is given twice", binding.name);
  }
  std::map<std::string, TensorType> types;
  for (const auto& input : graph.input()) {
    if (constants.contains(input.name())) continue;
    TensorType type;
    const bool tensor = input.type().has_tensor_type() &&
                        dtype_of(input.type().tensor_type().elem_type()) != DType::kNone;
    const auto shape = given.find(input.name());
    if (tensor && shape != given.end())
      type = {dtype_of(input.type().tensor_type().elem_type()), shape->second};
    else if (tensor)
      type = bound_type(input, symbols);
    types.emplace(input.name(), type);
  }
  return types;
}

}  // namespace reverie::proto
