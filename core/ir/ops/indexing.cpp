#include <algorithm>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

void require_indices(const TensorType& type) {
  if (type.dtype != DType::kInt64 && type.dtype != DType::kInt32)
    throw InputError("indices should be int32 or int64, not {}", name_of(type.dtype));
}

/// What is read and written is as much as the result; the indices are read beside it.
int64_t result_and_indices(const OpContext& node) {
  return 2 * node.outputs[0].bytes() + node.inputs[1].bytes();
}

OpSchema indexed(std::string name, int inputs, std::vector<AttrSpec> attributes) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = inputs;
  row.attributes = std::move(attributes);
  row.bytes = result_and_indices;
  return row;
}

void normalize_axis_of_first(Attributes& attributes, std::span<const TensorType> inputs) {
  normalize_axis_attribute(attributes, "axis", inputs[0].rank());
}

/// Indices of elements: as many axes as the data, none longer than theirs but `axis`.
void require_element_indices(const OpContext& node) {
  const TensorType& data = node.inputs[0];
  const TensorType& indices = node.inputs[1];
  require_indices(indices);
  const int axis = normalize_axis(node.attributes.integer("axis"), data.rank());
  bool fits = indices.rank() == data.rank();
  for (size_t i = 0; fits && i < data.shape.size(); ++i)
    fits = static_cast<int>(i) == axis || indices.shape[i] <= data.shape[i];
  if (!fits)
    throw InputError("indices of {} do not fit data of {} along axis {}", to_string(indices.shape),
                     to_string(data.shape), axis);
}

OpSchema gather_elements() {
  OpSchema row = indexed("GatherElements", 2, {{.name = "axis", .fallback = int64_t{0}}});
  row.normalize = normalize_axis_of_first;
  row.moves = true;
  row.range = range::as_first;
  row.infer = [](const OpContext& node) {
    require_element_indices(node);
    return Types{{node.inputs[0].dtype, node.inputs[1].shape}};
  };
  return row;
}

/// The shape of what one index tuple names, `skipped` leading axes aside.
Shape slice_of(const TensorType& data, const TensorType& indices, int64_t skipped) {
  require_indices(indices);
  if (indices.rank() == 0 || data.rank() == 0)
    throw InputError("needs data and indices with axes, not {} and {}", to_string(data.shape),
                     to_string(indices.shape));
  const int64_t used = indices.shape.back() + skipped;
  if (used > data.rank())
    throw InputError("index tuples of {} do not fit data of {}", indices.shape.back(),
                     to_string(data.shape));
  return Shape(data.shape.begin() + used, data.shape.end());
}

OpSchema gather_nd() {
  OpSchema row = indexed("GatherND", 2, {{.name = "batch_dims", .fallback = int64_t{0}}});
  row.moves = true;
  row.range = range::as_first;
  row.infer = [](const OpContext& node) {
    const TensorType& data = node.inputs[0];
    const TensorType& indices = node.inputs[1];
    const int64_t batch = node.attributes.integer("batch_dims");
    if (batch < 0 || batch >= std::min(data.rank(), indices.rank()))
      throw InputError("batch_dims is {} for data of {} and indices of {}", batch,
                       to_string(data.shape), to_string(indices.shape));
    const Shape slice = slice_of(data, indices, batch);
    if (!std::equal(data.shape.begin(), data.shape.begin() + batch, indices.shape.begin()))
      throw InputError("the first {} axes of {} and {} differ", batch, to_string(data.shape),
                       to_string(indices.shape));
    Shape result(indices.shape.begin(), indices.shape.end() - 1);
    result.insert(result.end(), slice.begin(), slice.end());
    return Types{{data.dtype, std::move(result)}};
  };
  return row;
}

void require_reduction(const OpContext& node) {
  const std::string& reduction = node.attributes.text("reduction");
  if (reduction == "none") return;
  if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min")
    throw InputError("reduction '{}' is none of none, add, mul, max, min", reduction);
  require_numeric(node.inputs[0]);
}

OpSchema scatter(std::string name, std::vector<AttrSpec> attributes) {
  OpSchema row = indexed(std::move(name), 3, std::move(attributes));
  row.range = range::finite;
  row.attributes.push_back({.name = "reduction", .fallback = std::string("none")});
  return row;
}

OpSchema scatter_elements() {
  OpSchema row = scatter("ScatterElements", {{.name = "axis", .fallback = int64_t{0}}});
  row.normalize = normalize_axis_of_first;
  row.infer = [](const OpContext& node) {
    require_reduction(node);
    require_element_indices(node);
    require_dtype(node.inputs[2], node.inputs[0].dtype, "the updates");
    require_shape(node.inputs[2], node.inputs[1].shape, "the updates");
    return Types{node.inputs[0]};
  };
  return row;
}

OpSchema scatter_nd() {
  OpSchema row = scatter("ScatterND", {});
  row.infer = [](const OpContext& node) {
    require_reduction(node);
    const Shape& indices = node.inputs[1].shape;
    const Shape slice = slice_of(node.inputs[0], node.inputs[1], 0);
    Shape updates(indices.begin(), indices.end() - 1);
    updates.insert(updates.end(), slice.begin(), slice.end());
    require_dtype(node.inputs[2], node.inputs[0].dtype, "the updates");
    require_shape(node.inputs[2], updates, "the updates");
    return Types{node.inputs[0]};
  };
  return row;
}

OpSchema one_hot() {
  OpSchema row =
      indexed("OneHot", 2, {required("depth"), {.name = "axis", .fallback = int64_t{-1}}});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank() + 1);
  };
  row.infer = [](const OpContext& node) {
    require_indices(node.inputs[0]);
    require_shape(node.inputs[1], {2}, "the pair of values");
    const int64_t depth = node.attributes.integer("depth");
    if (depth < 0) throw InputError("depth is {}", depth);
    Shape result = node.inputs[0].shape;
    const int axis = normalize_axis(node.attributes.integer("axis"), node.inputs[0].rank() + 1);
    result.insert(result.begin() + axis, depth);
    return Types{{node.inputs[1].dtype, std::move(result)}};
  };
  row.bytes = {};
  return row;
}

OpSchema rearranged(std::string name, int inputs, std::vector<AttrSpec> attributes) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = inputs;
  row.attributes = std::move(attributes);
  return row;
}

OpSchema trilu() {
  OpSchema row = rearranged(
      "Trilu", 1,
      {{.name = "k", .fallback = int64_t{0}}, {.name = "upper", .fallback = int64_t{1}}});
  row.moves = true;
  row.range = range::finite;
  row.infer = [](const OpContext& node) {
    if (node.inputs[0].rank() < 2)
      throw InputError("needs matrices, not {}", to_string(node.inputs[0].shape));
    return Types{node.inputs[0]};
  };
  return row;
}

/// The block size, when it is at least 1 and at most `limit`; its square does not overflow.
int64_t block_size(const OpContext& node, int64_t limit) {
  constexpr int64_t kMost = int64_t{1} << 20;
  if (node.inputs[0].rank() != 4)
    throw InputError("needs batch, channels, height and width, not {}",
                     to_string(node.inputs[0].shape));
  const int64_t size = node.attributes.integer("blocksize");
  if (size < 1 || size > std::min(limit, kMost))
    throw InputError("blocksize {} does not fit {}", size, to_string(node.inputs[0].shape));
  return size;
}

void require_division(const Shape& shape, int64_t extent, int64_t by) {
  if (extent % by != 0)
    throw InputError("{} of {} does not divide into {}", extent, to_string(shape), by);
}

OpSchema depth_to_space() {
  OpSchema row = rearranged(
      "DepthToSpace", 1, {required("blocksize"), {.name = "mode", .fallback = std::string("DCR")}});
  row.moves = true;
  row.range = range::as_first;
  row.infer = [](const OpContext& node) {
    const Shape& x = node.inputs[0].shape;
    const int64_t size = block_size(node, x.size() == 4 ? std::max<int64_t>(x[1], 1) : 0);
    const std::string& mode = node.attributes.text("mode");
    if (mode != "DCR" && mode != "CRD") throw InputError("mode '{}' is neither DCR nor CRD", mode);
    require_division(x, x[1], size * size);
    return Types{{node.inputs[0].dtype, {x[0], x[1] / (size * size), x[2] * size, x[3] * size}}};
  };
  return row;
}

OpSchema space_to_depth() {
  OpSchema row = rearranged("SpaceToDepth", 1, {required("blocksize")});
  row.moves = true;
  row.range = range::as_first;
  row.infer = [](const OpContext& node) {
    const Shape& x = node.inputs[0].shape;
    const int64_t size = block_size(node, x.size() == 4 ? std::max<int64_t>({x[2], x[3], 1}) : 0);
    require_division(x, x[2], size);
    require_division(x, x[3], size);
    return Types{{node.inputs[0].dtype, {x[0], x[1] * size * size, x[2] / size, x[3] / size}}};
  };
  return row;
}

OpSchema reverse_sequence() {
  OpSchema row = rearranged("ReverseSequence", 2,
                            {{.name = "batch_axis", .fallback = int64_t{1}},
                             {.name = "time_axis", .fallback = int64_t{0}}});
  row.moves = true;
  row.range = range::as_first;
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    const int64_t batch = node.attributes.integer("batch_axis");
    const int64_t time = node.attributes.integer("time_axis");
    if (x.rank() < 2 || batch < 0 || batch > 1 || time != 1 - batch)
      throw InputError("its batch and time axes should be 0 and 1 of {}", to_string(x.shape));
    require_dtype(node.inputs[1], DType::kInt64, "the lengths");
    require_shape(node.inputs[1], {x.shape[static_cast<size_t>(batch)]}, "the lengths");
    return Types{x};
  };
  return row;
}

}  // namespace

std::vector<OpSchema> indexing() {
  return {gather_elements(), gather_nd(), scatter_elements(),
          scatter_nd(),      one_hot(),   stepping(value_shaped("NonZero", 1, {}))};
}

std::vector<OpSchema> rearranging() {
  return {trilu(), depth_to_space(), space_to_depth(), reverse_sequence()};
}

}  // namespace reverie::ops
