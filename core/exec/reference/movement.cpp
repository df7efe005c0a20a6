#include <algorithm>
#include <cmath>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// Every position of every axis read in place.
std::vector<AxisOffsets> identity_map(const Shape& shape) {
  const Strides strides = contiguous_strides(shape);
  std::vector<AxisOffsets> axes(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    for (int64_t i = 0; i < shape[axis]; ++i) axes[axis].push_back(i * strides[axis]);
  return axes;
}

std::vector<Tensor> copied(const KernelCall& call, const std::vector<AxisOffsets>& axes,
                           const std::byte* fill = nullptr) {
  Tensor result = call.new_output();
  copy_mapped(call.inputs[0].bytes(), result.bytes(), size_of(result.type().dtype), axes, fill);
  return {result};
}

std::vector<Tensor> transpose(const KernelCall& call) {
  const std::vector<AxisOffsets> from = identity_map(call.inputs[0].shape());
  std::vector<AxisOffsets> axes;
  for (const int64_t axis : call.attributes.integers("perm"))
    axes.push_back(from[static_cast<size_t>(axis)]);
  return copied(call, axes);
}

/// Bytes of all that lies behind one position of `axis`.
size_t bytes_behind(const TensorType& type, size_t axis) {
  const Shape inner(type.shape.begin() + static_cast<ptrdiff_t>(axis) + 1, type.shape.end());
  return static_cast<size_t>(element_count(inner) * size_of(type.dtype));
}

/// Copies between a whole and its parts along `axis`; copy(part, offset in part, offset in whole,
/// bytes).
template <typename Copy>
void for_each_part(const TensorType& whole, std::span<const TensorType> parts, size_t axis,
                   Copy&& copy) {
  const Shape lead(whole.shape.begin(), whole.shape.begin() + static_cast<ptrdiff_t>(axis));
  const auto outer = static_cast<size_t>(element_count(lead));
  size_t at = 0;
  for (size_t row = 0; row < outer; ++row)
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t bytes = static_cast<size_t>(parts[i].shape[axis]) * bytes_behind(whole, axis);
      copy(i, row * bytes, at, bytes);
      at += bytes;
    }
}

std::vector<Tensor> concat(const KernelCall& call) {
  Tensor result = call.new_output();
  std::vector<TensorType> parts;
  for (const Tensor& input : call.inputs) parts.push_back(input.type());
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  for_each_part(result.type(), parts, axis, [&](size_t part, size_t from, size_t to, size_t size) {
    const auto source = call.inputs[part].bytes().subspan(from, size);
    std::copy(source.begin(), source.end(), result.bytes().subspan(to, size).begin());
  });
  return {result};
}

std::vector<Tensor> split(const KernelCall& call) {
  std::vector<Tensor> results;
  for (size_t i = 0; i < call.outputs.size(); ++i) results.push_back(call.new_output(i));
  const Tensor& whole = call.inputs[0];
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  for_each_part(
      whole.type(), call.outputs, axis, [&](size_t part, size_t to, size_t from, size_t size) {
        const auto source = whole.bytes().subspan(from, size);
        std::copy(source.begin(), source.end(), results[part].bytes().subspan(to, size).begin());
      });
  return results;
}

std::vector<Tensor> slice(const KernelCall& call) {
  const Shape& shape = call.inputs[0].shape();
  std::vector<AxisOffsets> axes = identity_map(shape);
  const std::vector<int64_t>& sliced = call.attributes.integers("axes");
  for (size_t i = 0; i < sliced.size(); ++i) {
    const auto axis = static_cast<size_t>(sliced[i]);
    const AxisOffsets from = std::exchange(axes[axis], {});
    int64_t at = call.attributes.integers("starts")[i];
    for (int64_t n = 0; n < call.outputs[0].shape[axis]; ++n) {
      axes[axis].push_back(from[static_cast<size_t>(at)]);
      at += call.attributes.integers("steps")[i];
    }
  }
  return copied(call, axes);
}

std::vector<Tensor> gather(const KernelCall& call) {
  const Shape& table = call.inputs[0].shape();
  std::vector<AxisOffsets> axes = identity_map(table);
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  const int64_t extent = table[axis];
  const AxisOffsets from = std::exchange(axes[axis], {});
  for (const int64_t index : call.inputs[1].to_integers()) {
    if (index < -extent || index >= extent)
      throw InputError("Gather: index {} is out of range for an extent of {}", index, extent);
    axes[axis].push_back(from[static_cast<size_t>(index < 0 ? index + extent : index)]);
  }
  return copied(call, axes);
}

/// The position that a padded axis reads at `at` (negative or beyond the extent in the pads); -1
/// for the fill.
int64_t padded_source(std::string_view mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, extent - 1);
  if (mode == "reflect") return at < 0 ? -at : 2 * (extent - 1) - at;
  return -1;
}

std::vector<Tensor> pad(const KernelCall& call) {
  const TensorType& type = call.inputs[0].type();
  std::vector<AxisOffsets> axes = identity_map(type.shape);
  const std::vector<int64_t>& pads = call.attributes.integers("pads");
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const AxisOffsets from = std::exchange(axes[axis], {});
    for (int64_t i = 0; i < call.outputs[0].shape[axis]; ++i) {
      const int64_t at =
          padded_source(call.attributes.text("mode"), i - pads[axis], type.shape[axis]);
      axes[axis].push_back(at < 0 ? -1 : from[static_cast<size_t>(at)]);
    }
  }
  const Tensor value = Tensor::of<double>({}, {call.attributes.number("value")}).cast(type.dtype);
  return copied(call, axes, value.bytes().data());
}

std::vector<Tensor> tile(const KernelCall& call) {
  std::vector<AxisOffsets> axes = identity_map(call.inputs[0].shape());
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const AxisOffsets once = std::exchange(axes[axis], {});
    for (int64_t n = 0; n < call.attributes.integers("repeats")[axis]; ++n)
      axes[axis].insert(axes[axis].end(), once.begin(), once.end());
  }
  return copied(call, axes);
}

std::vector<Tensor> expand(const KernelCall& call) {
  const Shape& shape = call.outputs[0].shape;
  const Strides strides = broadcast_strides(call.inputs[0].shape(), shape);
  std::vector<AxisOffsets> axes(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    for (int64_t i = 0; i < shape[axis]; ++i) axes[axis].push_back(i * strides[axis]);
  return copied(call, axes);
}

Tensor nought(DType dtype) { return Tensor::of<double>({}, {0}).cast(dtype); }

std::vector<Tensor> trilu(const KernelCall& call) {
  const TensorType& type = call.inputs[0].type();
  const int64_t rows = type.shape.end()[-2], columns = type.shape.end()[-1];
  const int64_t k = call.attributes.integer("k");
  const bool upper = call.attributes.integer("upper") != 0;
  AxisOffsets offsets(static_cast<size_t>(type.elements()));
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t diagonal = at % columns - at / columns % rows;
    offsets[i] = (upper ? diagonal >= k : diagonal <= k) ? at : -1;
  }
  return copied(call, {offsets}, nought(type.dtype).bytes().data());
}

/// Positions along an axis that is made of blocks.
AxisOffsets block_offsets(int64_t blocks, int64_t step, int64_t size, int64_t step_within) {
  AxisOffsets offsets;
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t within = 0; within < size; ++within)
      offsets.push_back(block * step + within * step_within);
  return offsets;
}

std::vector<Tensor> depth_to_space(const KernelCall& call) {
  const Shape& shape = call.inputs[0].shape();
  const Strides strides = contiguous_strides(shape);
  const int64_t size = call.attributes.integer("blocksize");
  const int64_t channels = call.outputs[0].shape[1];
  const bool channel_first = call.attributes.text("mode") == "CRD";
  const int64_t across = (channel_first ? 1 : channels) * strides[1];
  std::vector<AxisOffsets> axes = identity_map(shape);
  axes[1] = block_offsets(channels, (channel_first ? size * size : 1) * strides[1], 1, 0);
  axes[2] = block_offsets(shape[2], strides[2], size, size * across);
  axes[3] = block_offsets(shape[3], strides[3], size, across);
  return copied(call, axes);
}

std::vector<Tensor> space_to_depth(const KernelCall& call) {
  const Shape& shape = call.inputs[0].shape();
  const Strides strides = contiguous_strides(shape);
  const int64_t size = call.attributes.integer("blocksize");
  std::vector<AxisOffsets> axes = identity_map(shape);
  const AxisOffsets channels = std::exchange(axes[1], {});
  for (const int64_t within : block_offsets(size, strides[2], size, strides[3]))
    for (const int64_t channel : channels) axes[1].push_back(within + channel);
  axes[2] = block_offsets(shape[2] / size, size * strides[2], 1, 0);
  axes[3] = block_offsets(shape[3] / size, size * strides[3], 1, 0);
  return copied(call, axes);
}

std::vector<Tensor> reverse_sequence(const KernelCall& call) {
  const Shape& shape = call.inputs[0].shape();
  const auto batch = static_cast<size_t>(call.attributes.integer("batch_axis"));
  const int64_t times = shape[1 - batch];
  const std::vector<int64_t> lengths = call.inputs[1].to_integers();
  for (const int64_t length : lengths)
    if (length < 0 || length > times)
      throw InputError("ReverseSequence: length {} is out of range for an extent of {}", length,
                       times);
  const int64_t inner = element_count(Shape(shape.begin() + 2, shape.end()));
  AxisOffsets rows;
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      const int64_t time = batch == 0 ? j : i;
      const int64_t length = lengths[static_cast<size_t>(batch == 0 ? i : j)];
      const int64_t from = time < length ? length - 1 - time : time;
      rows.push_back(inner * (batch == 0 ? i * shape[1] + from : from * shape[1] + j));
    }
  return copied(call, {rows, block_offsets(inner, 1, 1, 0)});
}

std::vector<Tensor> view(const KernelCall& call) {
  return {call.inputs[0].reshaped(call.outputs[0].shape)};
}

std::vector<Tensor> shape(const KernelCall& call) {
  const Shape& shape = call.inputs[0].shape();
  const int64_t start = call.attributes.integer("start");
  Tensor result = call.new_output();
  const auto out = result.data<int64_t>();
  std::copy_n(shape.begin() + start, out.size(), out.begin());
  return {result};
}

std::vector<Tensor> constant_of_shape(const KernelCall& call) {
  const DType dtype = dtype_named(call.attributes.text("dtype"));
  const Shape extents = call.inputs[0].to_integers();
  for (const int64_t extent : extents)
    if (extent < 0) throw InputError("ConstantOfShape: extent {} is negative", extent);
  const Tensor value = Tensor::of<double>({}, {call.attributes.number("value")}).cast(dtype);
  Tensor result({dtype, extents});
  copy_mapped(value.bytes(), result.bytes(), size_of(dtype),
              {AxisOffsets(static_cast<size_t>(result.elements()), 0)}, nullptr);
  return {result};
}

std::vector<Tensor> range(const KernelCall& call) {
  const DType dtype = call.inputs[0].type().dtype;
  const auto at = [&](size_t i) { return call.inputs[i].to_doubles().at(0); };
  if (at(2) == 0) throw InputError("Range: the step is 0");
  const auto count = static_cast<int64_t>(std::max(0.0, std::ceil((at(1) - at(0)) / at(2))));
  Tensor result({DType::kFloat64, {count}});
  const auto out = result.data<double>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = at(0) + static_cast<double>(i) * at(2);
  return {result.cast(dtype)};
}

}  // namespace

std::vector<KernelRow> movement_kernels() {
  return {{"Transpose", transpose, KernelRow::Takes::kAny},
          {"Concat", concat, KernelRow::Takes::kAny},
          {"Split", split, KernelRow::Takes::kAny},
          {"Slice", slice, KernelRow::Takes::kAny},
          {"Gather", gather, KernelRow::Takes::kAny},
          {"Pad", pad, KernelRow::Takes::kAny},
          {"Tile", tile, KernelRow::Takes::kAny},
          {"Expand", expand, KernelRow::Takes::kAny},
          {"Trilu", trilu, KernelRow::Takes::kAny},
          {"DepthToSpace", depth_to_space, KernelRow::Takes::kAny},
          {"SpaceToDepth", space_to_depth, KernelRow::Takes::kAny},
          {"ReverseSequence", reverse_sequence, KernelRow::Takes::kAny},
          {"Reshape", view, KernelRow::Takes::kAny},
          {"Flatten", view, KernelRow::Takes::kAny},
          {"Squeeze", view, KernelRow::Takes::kAny},
          {"Unsqueeze", view, KernelRow::Takes::kAny},
          {"Shape", shape, KernelRow::Takes::kAny},
          {"ConstantOfShape", constant_of_shape, KernelRow::Takes::kAny},
          {"Range", range, KernelRow::Takes::kAny}};
}

}  // namespace reverie::reference
