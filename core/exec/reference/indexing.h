#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/ir/tensor.h"

namespace reverie::reference {

/// Distance in elements between neighbours along every axis.
using Strides = std::vector<int64_t>;

Strides contiguous_strides(const Shape& shape);
/// Strides that read a tensor of shape `from` as if it were broadcast to `to`.
Strides broadcast_strides(const Shape& from, const Shape& to);

/// Elements [first, first + count) of the iterated shape in row-major order; operand i starts at
/// offsets[i] and advances by steps[i].
struct Run {
  int64_t first;
  int64_t count;
  const int64_t* offsets;
  const int64_t* steps;
};

/// Visits every element of `shape` once, in row-major order, in the longest runs along which all
/// operands advance evenly.
void for_each_run(const Shape& shape, std::vector<Strides> operands,
                  const std::function<void(const Run&)>& visit);

/// The elements of `value`, which are doubles, broadcast to `shape`.
std::vector<double> broadcast_to(const Tensor& value, const Shape& shape);

/// Where every position along one axis of a result is read: offsets in elements that add up over
/// the axes. A negative one reads the fill instead.
using AxisOffsets = std::vector<int64_t>;

/// Fills `target` (row-major, extents given by the sizes of `axes`) from `source`, elements of
/// `element` bytes. `fill` is one element, or null where no offset is negative.
void copy_mapped(std::span<const std::byte> source, std::span<std::byte> target, int64_t element,
                 const std::vector<AxisOffsets>& axes, const std::byte* fill);

}  // namespace reverie::reference
