#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace reverie::device::cuda {

/// Leaves out axes of one element and makes one of neighbours that every set of `strides` runs
/// through as through one; the number of axes left. What lies where stays the same, and so does the
/// order.
inline int merge_axes(int axes, int64_t* extents, std::initializer_list<int64_t*> strides) {
  int last = -1;
  for (int axis = 0; axis < axes; ++axis) {
    if (extents[axis] == 1) continue;
    const auto is_one = [&](const int64_t* stride) {
      return stride[last] == stride[axis] * extents[axis];
    };
    const bool merges = last >= 0 && std::all_of(strides.begin(), strides.end(), is_one);
    if (!merges) ++last;
    extents[last] = merges ? extents[last] * extents[axis] : extents[axis];
    for (int64_t* stride : strides) stride[last] = stride[axis];
  }
  return last + 1;
}

}  // namespace reverie::device::cuda
