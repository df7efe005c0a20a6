#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

/// Operators that give the same data another shape.
OpSchema view(std::string name, std::vector<AttrSpec> attributes) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = 1;
  row.attributes = std::move(attributes);
  row.bytes = no_bytes;
  row.view = true;
  row.moves = true;
  row.range = range::as_first;
  return row;
}

/// Resolves 0 (as in the input) and -1 (what remains) in Reshape's `shape`.
void normalize_reshape(Attributes& attributes, std::span<const TensorType> inputs) {
  const TensorType& x = inputs[0];
  Shape shape = attributes.integers("shape");
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 0 && i < x.shape.size()) shape[i] = x.shape[i];
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    *open = 1;
    const int64_t rest = element_count(shape);
    if (rest == 0 || x.elements() % rest != 0)
      throw InputError("{} elements do not divide into {}", x.elements(), to_string(shape));
    *open = x.elements() / rest;
  }
  attributes.set("shape", std::move(shape));
}

OpSchema reshape() {
  OpSchema row = view("Reshape", {required("shape")});
  row.normalize = normalize_reshape;
  row.infer = [](const OpContext& node) {
    const Shape& shape = node.attributes.integers("shape");
    require_integers(node.attributes, "shape", shape.size(), 0);
    if (element_count(shape) != node.inputs[0].elements())
      throw InputError("{} elements do not make {}", node.inputs[0].elements(), to_string(shape));
    return Types{{node.inputs[0].dtype, shape}};
  };
  return row;
}

OpSchema flatten() {
  OpSchema row = view("Flatten", {{.name = "axis", .fallback = int64_t{1}}});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    const int64_t axis = attributes.integer("axis");
    if (axis < 0) attributes.set("axis", axis + inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    const int64_t axis = node.attributes.integer("axis");
    if (axis < 0 || axis > x.rank())
      throw InputError("axis {} is out of range for a tensor of rank {}", axis, x.rank());
    const Shape outer(x.shape.begin(), x.shape.begin() + axis);
    const Shape inner(x.shape.begin() + axis, x.shape.end());
    return Types{{x.dtype, {element_count(outer), element_count(inner)}}};
  };
  return row;
}

OpSchema squeeze() {
  OpSchema row = view("Squeeze", {optional("axes")});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    std::vector<int64_t> ones;
    for (int axis = 0; axis < inputs[0].rank(); ++axis)
      if (inputs[0].shape[static_cast<size_t>(axis)] == 1) ones.push_back(axis);
    set_if_absent(attributes, "axes", std::move(ones));
    normalize_axes_attribute(attributes, "axes", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    const std::vector<int64_t>& axes = node.attributes.integers("axes");
    for (const int64_t axis : axes)
      if (x.shape[static_cast<size_t>(normalize_axis(axis, x.rank()))] != 1)
        throw InputError("axis {} of {} is not 1", axis, to_string(x.shape));
    Shape result;
    for (int axis = 0; axis < x.rank(); ++axis)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end())
        result.push_back(x.shape[static_cast<size_t>(axis)]);
    return Types{{x.dtype, std::move(result)}};
  };
  return row;
}

OpSchema unsqueeze() {
  OpSchema row = view("Unsqueeze", {required("axes")});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    const auto added = static_cast<int>(attributes.integers("axes").size());
    normalize_axes_attribute(attributes, "axes", inputs[0].rank() + added);
  };
  row.infer = [](const OpContext& node) {
    const std::vector<int64_t>& axes = node.attributes.integers("axes");
    Shape result = node.inputs[0].shape;
    for (const int64_t axis : axes) {
      if (axis < 0 || axis > static_cast<int64_t>(result.size()))
        throw InputError("axis {} is out of range", axis);
      result.insert(result.begin() + axis, 1);
    }
    return Types{{node.inputs[0].dtype, std::move(result)}};
  };
  return row;
}

OpSchema shape() {
  OpSchema row = view("Shape", {{.name = "start", .fallback = int64_t{0}}, optional("end")});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    const int64_t rank = inputs[0].rank();
    set_if_absent(attributes, "end", rank);
    for (const char* name : {"start", "end"}) {
      const int64_t at = attributes.integer(name);
      attributes.set(name, std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank));
    }
  };
  row.infer = [](const OpContext& node) {
    const int64_t extent = node.attributes.integer("end") - node.attributes.integer("start");
    return Types{{DType::kInt64, {std::max<int64_t>(extent, 0)}}};
  };
  row.view = row.moves = false;
  row.range = nullptr;
  return row;
}

}  // namespace

std::vector<OpSchema> shapes() {
  return {reshape(),
          flatten(),
          squeeze(),
          unsqueeze(),
          shape(),
          value_shaped("ConstantOfShape", 1,
                       {{.name = "value", .fallback = 0.0},
                        {.name = "dtype", .fallback = std::string("float32")}}),
          stepping(value_shaped("Range", 3, {}))};
}

}  // namespace reverie::ops
