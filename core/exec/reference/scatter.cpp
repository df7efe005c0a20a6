#include <algorithm>
#include <numeric>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// From the front. InputError names the operator when there is no such position.
int64_t position(std::string_view op, int64_t index, int64_t extent) {
  if (index < -extent || index >= extent)
    throw InputError("{}: index {} is out of range for an extent of {}", op, index, extent);
  return index < 0 ? index + extent : index;
}

/// Offsets in `data` of the elements that `indices` name along `axis`, one for each.
AxisOffsets element_offsets(std::string_view op, const Shape& data, const Tensor& indices,
                            size_t axis) {
  const Shape& shape = indices.shape();
  Strides strides = contiguous_strides(data);
  const int64_t step = std::exchange(strides[axis], 0);
  const std::vector<int64_t> values = indices.to_integers();
  AxisOffsets offsets(values.size());
  for_each_run(shape, {strides}, [&](const Run& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      const auto at = static_cast<size_t>(run.first + i);
      offsets[at] = run.offsets[0] + i * run.steps[0] + step * position(op, values[at], data[axis]);
    }
  });
  return offsets;
}

/// Offsets in `data` of the slices that index tuples name, `batch` leading axes in common.
AxisOffsets slice_offsets(std::string_view op, const Shape& data, const Tensor& indices,
                          size_t batch) {
  const Shape& shape = indices.shape();
  const auto width = static_cast<size_t>(shape.back());
  const Strides strides = contiguous_strides(data);
  const std::vector<int64_t> values = indices.to_integers();
  const auto behind = data.begin() + static_cast<ptrdiff_t>(batch);
  const int64_t batches = element_count(Shape(data.begin(), behind));
  AxisOffsets offsets(static_cast<size_t>(element_count(Shape(shape.begin(), shape.end() - 1))));
  const size_t per_batch = offsets.empty() ? 1 : offsets.size() / static_cast<size_t>(batches);
  const int64_t batch_step = element_count(Shape(behind, data.end()));
  for (size_t at = 0; at < offsets.size(); ++at) {
    offsets[at] = static_cast<int64_t>(at / per_batch) * batch_step;
    for (size_t i = 0; i < width; ++i)
      offsets[at] += strides[batch + i] * position(op, values[at * width + i], data[batch + i]);
  }
  return offsets;
}

/// Offsets within the slice that `used` leading axes leave.
AxisOffsets within_slice(const Shape& data, size_t used) {
  AxisOffsets offsets(static_cast<size_t>(
      element_count(Shape(data.begin() + static_cast<ptrdiff_t>(used), data.end()))));
  std::iota(offsets.begin(), offsets.end(), 0);
  return offsets;
}

std::vector<Tensor> read(const KernelCall& call, const Tensor& source,
                         const std::vector<AxisOffsets>& axes) {
  Tensor result = call.new_output();
  copy_mapped(source.bytes(), result.bytes(), size_of(result.type().dtype), axes, nullptr);
  return {result};
}

std::vector<Tensor> gather_elements(const KernelCall& call) {
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  return read(call, call.inputs[0],
              {element_offsets("GatherElements", call.inputs[0].shape(), call.inputs[1], axis)});
}

std::vector<Tensor> gather_nd(const KernelCall& call) {
  const Shape& data = call.inputs[0].shape();
  const auto batch = static_cast<size_t>(call.attributes.integer("batch_dims"));
  const size_t used = batch + static_cast<size_t>(call.inputs[1].shape().back());
  return read(call, call.inputs[0],
              {slice_offsets("GatherND", data, call.inputs[1], batch), within_slice(data, used)});
}

template <typename T>
T updated(T element, T by, std::string_view reduction) {
  if constexpr (!std::is_same_v<T, bool>) {
    if (reduction == "add") return plus(element, by);
    if (reduction == "mul") return times(element, by);
    if (reduction == "max") return larger(element, by);
    if (reduction == "min") return smaller(element, by);
  }
  return by;
}

/// A copy of the data, updated in order at each of `starts`, `within` that.
std::vector<Tensor> written(const KernelCall& call, const AxisOffsets& starts,
                            const AxisOffsets& within) {
  Tensor result = call.inputs[0].clone();
  const std::string& reduction = call.attributes.text("reduction");
  visit_carrier(result.type().dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* from = call.inputs[2].data<T>().data();
    T* to = result.data<T>().data();
    for (const int64_t start : starts)
      for (const int64_t offset : within)
        to[start + offset] = updated(to[start + offset], *from++, reduction);
  });
  return {result};
}

std::vector<Tensor> scatter_elements(const KernelCall& call) {
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  return written(
      call, element_offsets("ScatterElements", call.inputs[0].shape(), call.inputs[1], axis), {0});
}

std::vector<Tensor> scatter_nd(const KernelCall& call) {
  const Shape& data = call.inputs[0].shape();
  const auto used = static_cast<size_t>(call.inputs[1].shape().back());
  return written(call, slice_offsets("ScatterND", data, call.inputs[1], 0),
                 within_slice(data, used));
}

/// An index that is out of range gives a row of the first value (ONNX operator specification).
std::vector<Tensor> one_hot(const KernelCall& call) {
  const int64_t depth = call.attributes.integer("depth");
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  const Shape& shape = call.outputs[0].shape;
  const std::vector<int64_t> indices = call.inputs[0].to_integers();
  const int64_t inner =
      element_count(Shape(shape.begin() + static_cast<ptrdiff_t>(axis) + 1, shape.end()));
  AxisOffsets offsets(static_cast<size_t>(element_count(shape)), 0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t index = indices[i] < 0 ? indices[i] + depth : indices[i];
    if (index < 0 || index >= depth) continue;
    const auto at = static_cast<int64_t>(i);
    offsets[static_cast<size_t>((at / inner * depth + index) * inner + at % inner)] = 1;
  }
  return read(call, call.inputs[1], {offsets});
}

template <typename T>
Tensor places_of_nonzero(const Tensor& tensor) {
  const auto elements = tensor.data<T>();
  std::vector<int64_t> found;
  for (size_t i = 0; i < elements.size(); ++i)
    if (elements[i] != T{}) found.push_back(static_cast<int64_t>(i));
  const auto rank = tensor.shape().size();
  Tensor result({DType::kInt64, {static_cast<int64_t>(rank), static_cast<int64_t>(found.size())}});
  auto to = result.data<int64_t>().begin();
  const Strides strides = contiguous_strides(tensor.shape());
  for (size_t axis = 0; axis < rank; ++axis)
    for (const int64_t at : found) *to++ = at / strides[axis] % tensor.shape()[axis];
  return result;
}

std::vector<Tensor> nonzero(const KernelCall& call) {
  return visit_carrier(call.inputs[0].type().dtype, [&](auto zero) {
    return std::vector<Tensor>{places_of_nonzero<decltype(zero)>(call.inputs[0])};
  });
}

}  // namespace

std::vector<KernelRow> scatter_kernels() {
  return {{"GatherElements", gather_elements, KernelRow::Takes::kAny},
          {"GatherND", gather_nd, KernelRow::Takes::kAny},
          {"ScatterElements", scatter_elements},
          {"ScatterND", scatter_nd},
          {"OneHot", one_hot, KernelRow::Takes::kAny},
          {"NonZero", nonzero}};
}

}  // namespace reverie::reference
