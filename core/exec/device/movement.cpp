#include <algorithm>

#include "core/base/error.h"
#include "core/exec/device/builder.h"

namespace reverie::device {
namespace {

bool is_movable(const TensorType& type) {
  const int64_t bytes = size_of(type.dtype);
  return type.elements() > 0 && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

/// One piece, of the shape of the result, that reads at `offset` with `strides`.
bool add_copy(Builder& builder, ValueId input, int64_t offset, const Shape& shape, Strides strides,
              ValueId result) {
  const TensorType type = builder.type(result);
  if (!is_movable(type)) return false;
  Movement call{.element_bytes = size_of(type.dtype), .pieces = {}};
  call.pieces.push_back({.shape = shape,
                         .source = offset,
                         .source_strides = std::move(strides),
                         .target_strides = row_major(shape)});
  return add_movement(builder, std::move(call), {builder.at(input)}, {builder.define(result)});
}

/// Between a whole and its parts along `axis`: piece i is part i, whose place in the whole is
/// given.
struct Parts {
  Strides whole;
  size_t axis;
  int64_t at = 0;

  Piece next(const Shape& part, bool to_whole, int number) {
    Piece piece{.read = to_whole ? number : 0,
                .write = to_whole ? 0 : number,
                .shape = part,
                .source = to_whole ? 0 : at,
                .target = to_whole ? at : 0,
                .source_strides = to_whole ? row_major(part) : whole,
                .target_strides = to_whole ? whole : row_major(part)};
    at += part[axis] * whole[axis];
    return piece;
  }
};

}  // namespace

bool add_movement(Builder& builder, Movement call, std::vector<BufferId> reads,
                  std::vector<BufferId> writes) {
  std::erase_if(call.pieces, [](const Piece& piece) { return element_count(piece.shape) == 0; });
  for (Piece& piece : call.pieces) {
    join_axes(piece.shape, {&piece.source_strides, &piece.target_strides});
    if (piece.shape.size() > static_cast<size_t>(kMaxAxes)) return false;
  }
  call.reads = static_cast<int>(reads.size());
  call.writes = static_cast<int>(writes.size());
  return builder.add(call, std::move(reads), std::move(writes));
}

bool lower_view(Builder& builder, NodeId node) {
  builder.define(builder.graph().output(node), builder.at(builder.graph().inputs(node)[0]));
  return true;
}

bool lower_concat(Builder& builder, NodeId node) {
  const ValueId result = builder.graph().output(node);
  const TensorType type = builder.type(result);
  if (!is_movable(type)) return false;
  Parts parts{row_major(type.shape),
              static_cast<size_t>(builder.graph().attributes(node).integer("axis"))};
  Movement call{.element_bytes = size_of(type.dtype), .pieces = {}};
  std::vector<BufferId> reads;
  for (const ValueId input : builder.graph().inputs(node)) {
    call.pieces.push_back(
        parts.next(builder.type(input).shape, true, static_cast<int>(reads.size())));
    reads.push_back(builder.at(input));
  }
  return add_movement(builder, std::move(call), std::move(reads), {builder.define(result)});
}

bool lower_split(Builder& builder, NodeId node) {
  const ValueId whole = builder.graph().inputs(node)[0];
  const TensorType type = builder.type(whole);
  if (!is_movable(type)) return false;
  Parts parts{row_major(type.shape),
              static_cast<size_t>(builder.graph().attributes(node).integer("axis"))};
  Movement call{.element_bytes = size_of(type.dtype), .pieces = {}};
  std::vector<BufferId> writes;
  for (const ValueId part : builder.graph().outputs(node)) {
    call.pieces.push_back(
        parts.next(builder.type(part).shape, false, static_cast<int>(writes.size())));
    writes.push_back(builder.define(part));
  }
  return add_movement(builder, std::move(call), {builder.at(whole)}, std::move(writes));
}

bool lower_transpose(Builder& builder, NodeId node) {
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId result = builder.graph().output(node);
  const Strides strides = row_major(builder.type(input).shape);
  Strides permuted;
  for (const int64_t axis : builder.graph().attributes(node).integers("perm"))
    permuted.push_back(strides[static_cast<size_t>(axis)]);
  return add_copy(builder, input, 0, builder.type(result).shape, std::move(permuted), result);
}

bool lower_slice(Builder& builder, NodeId node) {
  const Attributes& attributes = builder.graph().attributes(node);
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId result = builder.graph().output(node);
  Strides strides = row_major(builder.type(input).shape);
  int64_t offset = 0;
  const std::vector<int64_t>& axes = attributes.integers("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& stride = strides[static_cast<size_t>(axes[i])];
    offset += attributes.integers("starts")[i] * stride;
    stride *= attributes.integers("steps")[i];
  }
  return add_copy(builder, input, offset, builder.type(result).shape, std::move(strides), result);
}

bool lower_expand(Builder& builder, NodeId node) {
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId result = builder.graph().output(node);
  const Shape& shape = builder.type(result).shape;
  return add_copy(builder, input, 0, shape, broadcast_strides(builder.type(input).shape, shape),
                  result);
}

/// Every axis as two: how often it is repeated, and what is repeated.
bool lower_tile(Builder& builder, NodeId node) {
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId result = builder.graph().output(node);
  const Shape& shape = builder.type(input).shape;
  const Strides own = row_major(shape);
  const std::vector<int64_t>& repeats = builder.graph().attributes(node).integers("repeats");
  Shape split;
  Strides strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    split.insert(split.end(), {repeats[i], shape[i]});
    strides.insert(strides.end(), {0, own[i]});
  }
  return add_copy(builder, input, 0, split, std::move(strides), result);
}

bool lower_gather(Builder& builder, NodeId node) {
  const auto inputs = builder.graph().inputs(node);
  const ValueId result = builder.graph().output(node);
  const TensorType table = builder.type(inputs[0]);
  const TensorType indices = builder.type(inputs[1]);
  if (!is_movable(table) || indices.elements() == 0) return false;
  const auto at = table.shape.begin() + builder.graph().attributes(node).integer("axis");
  const Gather call{
      .outer = element_count({table.shape.begin(), at}),
      .extent = *at,
      .count = indices.elements(),
      .inner_bytes = element_count({at + 1, table.shape.end()}) * size_of(table.dtype),
      .indices = indices.dtype};
  return builder.add(call, {builder.at(inputs[0]), builder.at(inputs[1])},
                     {builder.define(result)});
}

std::optional<BufferId> add_padded(Builder& builder, BufferId source, const TensorType& type,
                                   std::span<const int64_t> before, std::span<const int64_t> after,
                                   double value) {
  TensorType padded = type;
  for (size_t i = 0; i < before.size(); ++i) padded.shape[i] += before[i] + after[i];
  const BufferId target = builder.fresh(padded.bytes());
  if (!builder.add(Fill{.dtype = type.dtype, .value = value, .elements = padded.elements()}, {},
                   {target}))
    return {};
  Piece piece{.shape = type.shape,
              .source_strides = row_major(type.shape),
              .target_strides = row_major(padded.shape)};
  for (size_t i = 0; i < before.size(); ++i) piece.target += before[i] * piece.target_strides[i];
  Movement call{.element_bytes = size_of(type.dtype), .pieces = {piece}};
  if (!add_movement(builder, std::move(call), {source}, {target})) return {};
  return target;
}

bool lower_pad(Builder& builder, NodeId node) {
  const Attributes& attributes = builder.graph().attributes(node);
  const ValueId input = builder.graph().inputs(node)[0];
  const TensorType type = builder.type(input);
  const std::vector<int64_t>& pads = attributes.integers("pads");
  const bool removes = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; });
  if (attributes.text("mode") != "constant" || removes || !is_movable(type) ||
      !is_device_float(type.dtype))
    return false;
  const std::span<const int64_t> all(pads);
  const auto padded = add_padded(builder, builder.at(input), type, all.first(pads.size() / 2),
                                 all.last(pads.size() / 2), attributes.number("value"));
  if (padded) builder.define(builder.graph().output(node), *padded);
  return padded.has_value();
}

}  // namespace reverie::device
