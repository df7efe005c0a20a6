#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

OpSchema movement(std::string name, int inputs, std::vector<AttrSpec> attributes) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = row.max_inputs = inputs;
  row.attributes = std::move(attributes);
  row.range = range::as_first;
  row.moves = true;
  return row;
}

OpSchema transpose() {
  OpSchema row = movement("Transpose", 1, {optional("perm")});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    std::vector<int64_t> reversed(inputs[0].shape.size());
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    set_if_absent(attributes, "perm", std::move(reversed));
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    return Types{{x.dtype, permuted(x.shape, node.attributes.integers("perm"))}};
  };
  return row;
}

OpSchema concat() {
  OpSchema row = movement("Concat", 1, {required("axis")});
  row.max_inputs = OpSchema::kVariadic;
  row.range = range::as_all;
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    require_same_dtype(node);
    TensorType result = node.inputs[0];
    const auto axis =
        static_cast<size_t>(normalize_axis(node.attributes.integer("axis"), result.rank()));
    int64_t extent = 0;
    for (const TensorType& type : node.inputs) {
      if (!type.known()) throw InputError("an input is absent");
      extent += type.rank() == result.rank() ? type.shape[axis] : 0;
      Shape other = type.shape;
      if (type.rank() == result.rank()) other[axis] = result.shape[axis];
      if (other != result.shape)
        throw InputError("{} and {} differ beyond axis {}", to_string(result.shape),
                         to_string(type.shape), axis);
    }
    result.shape[axis] = extent;
    return Types{result};
  };
  return row;
}

OpSchema split() {
  OpSchema row =
      movement("Split", 1, {{.name = "axis", .fallback = int64_t{0}}, required("split")});
  row.max_outputs = OpSchema::kVariadic;
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    const auto axis =
        static_cast<size_t>(normalize_axis(node.attributes.integer("axis"), x.rank()));
    const std::vector<int64_t>& parts = node.attributes.integers("split");
    require_integers(node.attributes, "split", parts.size(), 0);
    if (parts.empty() || std::accumulate(parts.begin(), parts.end(), int64_t{0}) != x.shape[axis])
      throw InputError("split {} does not add up to the extent {} of axis {}",
                       to_string(AttrValue(parts)), x.shape[axis], axis);
    Types results(parts.size(), x);
    for (size_t i = 0; i < parts.size(); ++i) results[i].shape[axis] = parts[i];
    return results;
  };
  return row;
}

struct SliceRange {
  int64_t start;
  int64_t end;
  int64_t step;
};

/// NumPy's clamping. With a negative step an end before the first element becomes -extent - 1, so
/// that clamping again changes nothing.
SliceRange clamped(SliceRange range, int64_t extent) {
  if (range.step == 0) throw InputError("a slice cannot have step 0");
  // A longer step takes one element as well.
  range.step = std::clamp(range.step, std::min<int64_t>(-extent, -1), std::max<int64_t>(extent, 1));
  const auto from_front = [&](int64_t at) { return at < 0 ? at + extent : at; };
  if (range.step > 0) {
    range.start = std::clamp<int64_t>(from_front(range.start), 0, extent);
    range.end =
        std::clamp<int64_t>(from_front(range.end), range.start, std::max(extent, range.start));
  } else {
    range.start = std::clamp<int64_t>(from_front(range.start), 0, std::max<int64_t>(extent - 1, 0));
    const int64_t end = from_front(std::max(range.end, -extent - 1));
    range.end = end < 0 ? -extent - 1 : std::min(end, range.start);
  }
  return range;
}

int64_t slice_extent(const SliceRange& range, int64_t extent) {
  if (extent == 0) return 0;
  if (range.step > 0) return (range.end - range.start + range.step - 1) / range.step;
  const int64_t end = range.end < 0 ? -1 : range.end;
  return (range.start - end - range.step - 1) / -range.step;
}

void normalize_slice(Attributes& attributes, std::span<const TensorType> inputs) {
  const size_t count = attributes.integers("starts").size();
  std::vector<int64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  set_if_absent(attributes, "axes", all);
  set_if_absent(attributes, "steps", std::vector<int64_t>(count, 1));
  for (const char* name : {"ends", "axes", "steps"})
    require_integers(attributes, name, count, std::numeric_limits<int64_t>::min());
  std::vector<std::pair<int64_t, SliceRange>> ranges;
  for (size_t i = 0; i < count; ++i) {
    const int axis = normalize_axis(attributes.integers("axes")[i], inputs[0].rank());
    const SliceRange range = {attributes.integers("starts")[i], attributes.integers("ends")[i],
                              attributes.integers("steps")[i]};
    ranges.emplace_back(axis, clamped(range, inputs[0].shape[static_cast<size_t>(axis)]));
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int64_t> starts, ends, axes, steps;
  for (const auto& [axis, range] : ranges) {
    axes.push_back(axis);
    starts.push_back(range.start);
    ends.push_back(range.end);
    steps.push_back(range.step);
  }
  attributes.set("starts", std::move(starts));
  attributes.set("ends", std::move(ends));
  attributes.set("axes", std::move(axes));
  attributes.set("steps", std::move(steps));
  normalize_axes_attribute(attributes, "axes", inputs[0].rank());
}

OpSchema slice() {
  OpSchema row = movement(
      "Slice", 1, {required("starts"), required("ends"), optional("axes"), optional("steps")});
  row.normalize = normalize_slice;
  row.infer = [](const OpContext& node) {
    TensorType result = node.inputs[0];
    const std::vector<int64_t>& axes = node.attributes.integers("axes");
    for (const char* name : {"starts", "ends", "steps"})
      require_integers(node.attributes, name, axes.size(), std::numeric_limits<int64_t>::min());
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t& extent = result.shape[static_cast<size_t>(normalize_axis(axes[i], result.rank()))];
      const SliceRange range = {node.attributes.integers("starts")[i],
                                node.attributes.integers("ends")[i],
                                node.attributes.integers("steps")[i]};
      extent = slice_extent(clamped(range, extent), extent);
    }
    return Types{result};
  };
  row.bytes = reads_what_it_writes;
  return row;
}

OpSchema gather() {
  OpSchema row = movement("Gather", 2, {{.name = "axis", .fallback = int64_t{0}}});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
  };
  row.infer = [](const OpContext& node) {
    const TensorType& table = node.inputs[0];
    const TensorType& indices = node.inputs[1];
    if (indices.dtype != DType::kInt64 && indices.dtype != DType::kInt32)
      throw InputError("indices should be int32 or int64, not {}", name_of(indices.dtype));
    const int axis = normalize_axis(node.attributes.integer("axis"), table.rank());
    Shape result(table.shape.begin(), table.shape.begin() + axis);
    result.insert(result.end(), indices.shape.begin(), indices.shape.end());
    result.insert(result.end(), table.shape.begin() + axis + 1, table.shape.end());
    return Types{{table.dtype, std::move(result)}};
  };
  row.bytes = [](const OpContext& node) {
    return 2 * node.outputs[0].bytes() + node.inputs[1].bytes();
  };
  return row;
}

OpSchema pad() {
  OpSchema row = movement("Pad", 1,
                          {required("pads"),
                           {.name = "mode", .fallback = std::string("constant")},
                           {.name = "value", .fallback = 0.0}});
  row.range = range::pad;
  row.infer = [](const OpContext& node) {
    TensorType result = node.inputs[0];
    const size_t rank = result.shape.size();
    const std::string& mode = node.attributes.text("mode");
    if (mode != "constant" && mode != "reflect" && mode != "edge")
      throw InputError("mode '{}' is none of constant, reflect, edge", mode);
    require_integers(node.attributes, "pads", 2 * rank, std::numeric_limits<int64_t>::min());
    const std::vector<int64_t>& pads = node.attributes.integers("pads");
    for (size_t i = 0; i < rank; ++i) {
      const int64_t most = std::max(pads[i], pads[i + rank]);
      if (mode == "reflect" && most > 0 && most >= result.shape[i])
        throw InputError("cannot reflect {} elements of an extent of {}", most, result.shape[i]);
      if (mode == "edge" && most > 0 && result.shape[i] == 0)
        throw InputError("cannot repeat the edge of an extent of 0");
      result.shape[i] += pads[i] + pads[i + rank];
      if (result.shape[i] < 0) throw InputError("pads leave an extent of {}", result.shape[i]);
    }
    return Types{result};
  };
  return row;
}

OpSchema tile() {
  OpSchema row = movement("Tile", 1, {required("repeats")});
  row.infer = [](const OpContext& node) {
    TensorType result = node.inputs[0];
    require_integers(node.attributes, "repeats", result.shape.size(), 0);
    for (size_t i = 0; i < result.shape.size(); ++i) {
      const int64_t times = node.attributes.integers("repeats")[i];
      if (__builtin_mul_overflow(result.shape[i], times, &result.shape[i]))
        throw InputError("{} repeated {} times is too large", to_string(node.inputs[0].shape),
                         times);
    }
    return Types{result};
  };
  return row;
}

OpSchema expand() {
  OpSchema row = movement("Expand", 1, {required("shape")});
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    attributes.set("shape", broadcast(inputs[0].shape, attributes.integers("shape")));
  };
  row.infer = [](const OpContext& node) {
    require_integers(node.attributes, "shape", node.attributes.integers("shape").size(), 0);
    require_broadcasts_to(node.inputs[0], node.attributes.integers("shape"), "the input");
    return Types{{node.inputs[0].dtype, node.attributes.integers("shape")}};
  };
  return row;
}

}  // namespace

std::vector<OpSchema> movement() {
  return {transpose(), concat(), split(), slice(), gather(), pad(), tile(), expand()};
}

}  // namespace reverie::ops
