#include "core/ir/ops/common.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace reverie::ops {

void require_same_dtype(const OpContext& node) {
  const DType first = node.inputs[0].dtype;
  for (const TensorType& type : node.inputs)
    if (type.known() && type.dtype != first)
      throw InputError("mixes element types {} and {}", name_of(first), name_of(type.dtype));
}

void require_numeric(const TensorType& type) {
  if (type.dtype == DType::kBool || type.dtype == DType::kString)
    throw InputError("needs numbers, not {}", name_of(type.dtype));
}

void require_floating(const TensorType& type) {
  if (!is_floating(type.dtype))
    throw InputError("needs floating-point elements, not {}", name_of(type.dtype));
}

void require_dtype(const TensorType& type, DType dtype, std::string_view what) {
  if (type.dtype != dtype)
    throw InputError("{} should be {}, not {}", what, name_of(dtype), name_of(type.dtype));
}

void require_shape(const TensorType& value, const Shape& shape, std::string_view what) {
  if (value.shape != shape)
    throw InputError("{} should be {}, not {}", what, to_string(shape), to_string(value.shape));
}

void require_broadcasts_to(const TensorType& value, const Shape& target, std::string_view what) {
  if (broadcast(value.shape, target) != target)
    throw InputError("{} of shape {} does not broadcast to {}", what, to_string(value.shape),
                     to_string(target));
}

void require_integers(const Attributes& attributes, std::string_view name, size_t count,
                      int64_t low) {
  const std::vector<int64_t>& values = attributes.integers(name);
  if (values.size() != count)
    throw InputError("attribute '{}' has {} entries, expected {}", name, values.size(), count);
  for (const int64_t value : values)
    if (value < low)
      throw InputError("attribute '{}' holds {}, at least {} expected", name, value, low);
}

Shape permuted(const Shape& shape, const std::vector<int64_t>& perm) {
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool complete = sorted.size() == shape.size();
  for (size_t i = 0; complete && i < sorted.size(); ++i)
    complete = sorted[i] == static_cast<int64_t>(i);
  if (!complete)
    throw InputError("perm {} is no permutation of {} axes", to_string(AttrValue(perm)),
                     shape.size());
  Shape result;
  for (const int64_t axis : perm) result.push_back(shape[static_cast<size_t>(axis)]);
  return result;
}

void require_activation(const Attributes& attributes) {
  constexpr std::array<std::string_view, 4> kKnown = {"none", "relu", "sigmoid", "tanh"};
  const std::string& activation = attributes.text("activation");
  if (std::find(kKnown.begin(), kKnown.end(), activation) == kKnown.end())
    throw InputError("activation '{}' is none of none, relu, sigmoid, tanh", activation);
}

AttrSpec required(std::string name) { return {.name = std::move(name), .fallback = {}}; }

AttrSpec number(std::string name, double fallback) {
  return {.name = std::move(name), .fallback = fallback};
}

AttrSpec optional(std::string name) {
  return {.name = std::move(name), .fallback = {}, .optional = true};
}

void normalize_axis_attribute(Attributes& attributes, std::string_view name, int rank) {
  if (attributes.has(name))
    attributes.set(name, int64_t{normalize_axis(attributes.integer(name), rank)});
}

void normalize_axes_attribute(Attributes& attributes, std::string_view name, int rank) {
  std::vector<int64_t> axes = attributes.integers(name);
  for (int64_t& axis : axes) axis = normalize_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    throw InputError("attribute '{}' names an axis twice", name);
  attributes.set(name, std::move(axes));
}

void set_if_absent(Attributes& attributes, std::string_view name, AttrValue value) {
  if (!attributes.has(name)) attributes.set(name, std::move(value));
}

int64_t total_elements(std::span<const TensorType> types) {
  int64_t total = 0;
  for (const TensorType& type : types)
    if (type.known()) total += type.elements();
  return total;
}

int64_t total_bytes(std::span<const TensorType> types) {
  int64_t total = 0;
  for (const TensorType& type : types) total += type.bytes();
  return total;
}

int64_t one_flop_per_output(const OpContext& node) { return total_elements(node.outputs); }

int64_t one_flop_per_input(const OpContext& node) { return node.inputs[0].elements(); }

int64_t reads_what_it_writes(const OpContext& node) { return 2 * total_bytes(node.outputs); }

int64_t epilogue_flops(const OpContext& node, size_t bias, size_t residual) {
  const int64_t passes = node.has_input(bias) + node.has_input(residual) +
                         (node.attributes.text("activation") != "none");
  return passes * node.outputs[0].elements();
}

bool takes_floats(const OpContext& node) {
  return std::ranges::any_of(node.inputs,
                             [](const TensorType& type) { return is_floating(type.dtype); });
}

OpSchema stepping(OpSchema row) {
  row.steps = takes_floats;
  return row;
}

OpSchema value_shaped(std::string name, int inputs, std::vector<AttrSpec> attributes) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = inputs;
  row.attributes = std::move(attributes);
  row.value_shaped = true;
  row.infer = [](const OpContext&) -> Types {
    throw InputError(
        "the values of its inputs decide its shape, so that it has to be evaluated at import");
  };
  return row;
}

}  // namespace reverie::ops
