#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

/// Of one type that oneDNN moves, and not empty.
bool all_movable(const Builder& builder, NodeId node) {
  const auto movable = [&](ValueId value) {
    const TensorType& type = builder.type(value);
    return has_data_type(type.dtype) && type.elements() > 0 && type.rank() <= DNNL_MAX_NDIMS;
  };
  const auto inputs = builder.graph().inputs(node);
  const auto outputs = builder.graph().outputs(node);
  return std::all_of(inputs.begin(), inputs.end(), movable) &&
         std::all_of(outputs.begin(), outputs.end(), movable);
}

/// Copies `source`, read through `view` (of the output's extents), to row-major memory.
void add_copy(Builder& builder, const Slot& source, const Desc& view, ValueId output) {
  const Desc target = plain_desc(builder.type(output));
  const dnnl::reorder::primitive_desc chosen(engine(), view, engine(), target);
  const Slot result = builder.fresh(target);
  builder.add(dnnl::reorder(chosen), {{DNNL_ARG_FROM, {source.buffer, view}}},
              {{DNNL_ARG_TO, result}});
  builder.define(output, result);
}

bool try_concat(Builder& builder, std::span<const ValueId> inputs, int axis, ValueId output,
                bool as_they_stand) {
  std::vector<Slot> slots;
  std::vector<Desc> descs;
  for (const ValueId input : inputs) {
    slots.push_back(as_they_stand ? builder.at(input) : builder.plain(input));
    descs.push_back(slots.back().desc);
  }
  const auto chosen = as_they_stand ? dnnl::concat::primitive_desc(axis, descs, engine())
                                    : dnnl::concat::primitive_desc(plain_desc(builder.type(output)),
                                                                   axis, descs, engine());
  std::vector<Argument> reads;
  for (size_t i = 0; i < slots.size(); ++i)
    reads.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), slots[i]});
  const Slot result = builder.fresh(chosen.dst_desc());
  builder.add(dnnl::concat(chosen), std::move(reads), {{DNNL_ARG_DST, result}});
  builder.define(output, result);
  return true;
}

}  // namespace

bool lower_view(Builder& builder, NodeId node) {
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId output = builder.graph().output(node);
  if (builder.type(input) == builder.type(output)) {
    builder.define(output, builder.at(input));
  } else {
    builder.define(output, {builder.plain(input).buffer, plain_desc(builder.type(output))});
  }
  return true;
}

bool lower_concat(Builder& builder, NodeId node) {
  if (!all_movable(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const auto axis = static_cast<int>(builder.graph().attributes(node).integer("axis"));
  try {
    return try_concat(builder, inputs, axis, output, true);
  } catch (const dnnl::error&) {
    return try_concat(builder, inputs, axis, output, false);
  }
}

bool lower_transpose(Builder& builder, NodeId node) {
  if (!all_movable(builder, node)) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId output = builder.graph().output(node);
  const Slot source = builder.plain(input);
  const Dims strides = row_major_strides(source.desc.dims());
  Dims permuted;
  for (const int64_t axis : builder.graph().attributes(node).integers("perm"))
    permuted.push_back(strides[static_cast<size_t>(axis)]);
  if (permuted.empty()) return lower_view(builder, node);
  const Dims dims = builder.dims(output);
  add_copy(builder, source, strided(dims, permuted, data_type(builder.type(input).dtype)), output);
  return true;
}

bool lower_split(Builder& builder, NodeId node) {
  if (!all_movable(builder, node)) return false;
  const Slot source = builder.plain(builder.graph().inputs(node)[0]);
  const auto axis = static_cast<size_t>(builder.graph().attributes(node).integer("axis"));
  Dims offset(source.desc.dims().size(), 0);
  for (const ValueId output : builder.graph().outputs(node)) {
    const Dims dims = builder.dims(output);
    add_copy(builder, source, source.desc.submemory_desc(dims, offset), output);
    offset[axis] += dims[axis];
  }
  return true;
}

bool lower_slice(Builder& builder, NodeId node) {
  if (!all_movable(builder, node)) return false;
  const Attributes& attributes = builder.graph().attributes(node);
  const ValueId output = builder.graph().output(node);
  const Slot source = builder.plain(builder.graph().inputs(node)[0]);
  const std::vector<int64_t>& axes = attributes.integers("axes");
  Dims offset(source.desc.dims().size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (attributes.integers("steps")[i] != 1) return false;
    offset[static_cast<size_t>(axes[i])] = attributes.integers("starts")[i];
  }
  add_copy(builder, source, source.desc.submemory_desc(builder.dims(output), offset), output);
  return true;
}

namespace {

struct GatherShape {
  int64_t outer, extent, count, inner_bytes;
};

template <typename Index>
void gather(const GatherShape& shape, const std::byte* table, const Index* indices,
            std::byte* result) {
  const auto bytes = static_cast<size_t>(shape.inner_bytes);
  for (int64_t o = 0; o < shape.outer; ++o) {
    for (int64_t i = 0; i < shape.count; ++i) {
      const int64_t at = indices[i] < 0 ? indices[i] + shape.extent : indices[i];
      if (at < 0 || at >= shape.extent)
        throw InputError("Gather: index {} is out of range for an extent of {}", indices[i],
                         shape.extent);
      std::memcpy(result, table + (o * shape.extent + at) * shape.inner_bytes, bytes);
      result += bytes;
    }
  }
}

}  // namespace

bool lower_gather(Builder& builder, NodeId node) {
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const TensorType& table = builder.type(inputs[0]);
  const TensorType& indices = builder.type(inputs[1]);
  const auto axis = builder.graph().attributes(node).integer("axis");
  const auto at = table.shape.begin() + axis;
  const GatherShape shape{element_count({table.shape.begin(), at}), *at, indices.elements(),
                          element_count({at + 1, table.shape.end()}) * size_of(table.dtype)};
  const bool wide = indices.dtype == DType::kInt64;
  const Slot result = builder.fresh(plain_desc(builder.type(output)));
  builder.add(
      [shape, wide](std::span<std::byte* const> memory) {
        if (wide) {
          gather(shape, memory[0], reinterpret_cast<const int64_t*>(memory[1]), memory[2]);
        } else {
          gather(shape, memory[0], reinterpret_cast<const int32_t*>(memory[1]), memory[2]);
        }
      },
      {builder.plain(inputs[0]), builder.plain(inputs[1])}, {result});
  builder.define(output, result);
  return true;
}

namespace {

/// Rows of the innermost axis, each copied to its place in a tensor that holds the fill already.
struct Padding {
  Dims extents;  ///< of the input
  Dims strides;  ///< of the output
  int64_t offset = 0;
  float fill = 0;
  int64_t elements = 0;  ///< of the output

  void operator()(std::span<std::byte* const> memory) const {
    const auto* from = reinterpret_cast<const float*>(memory[0]);
    auto* to = reinterpret_cast<float*>(memory[1]);
    std::fill_n(to, elements, fill);
    copy(from, to + offset, 0);
  }

 private:
  void copy(const float*& from, float* to, size_t axis) const {
    if (axis + 1 == extents.size()) {
      std::copy_n(from, extents[axis], to);
      from += extents[axis];
      return;
    }
    for (int64_t i = 0; i < extents[axis]; ++i) copy(from, to + i * strides[axis], axis + 1);
  }
};

}  // namespace

bool lower_pad(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const Attributes& attributes = builder.graph().attributes(node);
  const std::vector<int64_t>& pads = attributes.integers("pads");
  const bool removes = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; });
  if (attributes.text("mode") != "constant" || removes || pads.empty()) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId output = builder.graph().output(node);
  Padding padding{.extents = builder.dims(input),
                  .strides = row_major_strides(builder.dims(output)),
                  .fill = static_cast<float>(attributes.number("value")),
                  .elements = builder.type(output).elements()};
  for (size_t i = 0; i < padding.strides.size(); ++i)
    padding.offset += pads[i] * padding.strides[i];
  const Slot result = builder.fresh(plain_desc(builder.type(output)));
  builder.add(padding, {builder.plain(input)}, {result});
  builder.define(output, result);
  return true;
}

}  // namespace reverie::cpu
