#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ir/attributes.h"
#include "core/ir/types.h"

namespace reverie::reference {

using Extents = std::array<int64_t, 3>;

/// A sliding window over three spatial axes; tensors with fewer get leading ones.
struct Window {
  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Extents pad_begin{0, 0, 0}, pad_end{0, 0, 0};

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Where tap `tap` of the window at `position` reads along `axis`; may lie outside.
  int64_t at(size_t axis, int64_t position, int64_t tap) const {
    return position * stride[axis] - pad_begin[axis] + tap * dilation[axis];
  }
};

/// Of a convolution or pooling with input `x`, result `out` and the attributes strides, pads and,
/// where there are any, dilations.
Window window_of(const Shape& x, const Shape& out, const Attributes& attributes,
                 std::span<const int64_t> kernel);

/// A tap that lies within the input: its number, and the offset in a plane that it reads.
struct Tap {
  int64_t tap;
  int64_t offset;
};
/// The taps of the window at result `position` (a number below out_size()) that lie within the
/// input. Returns how many lie within the padded input.
int64_t taps_at(const Window& window, int64_t position, std::vector<Tap>& inside);

}  // namespace reverie::reference
