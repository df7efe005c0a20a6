#include "core/exec/reference/window.h"

namespace reverie::reference {

Window window_of(const Shape& x, const Shape& out, const Attributes& attributes,
                 std::span<const int64_t> kernel) {
  Window window;
  const size_t rank = x.size() - 2;
  const size_t lead = 3 - rank;
  const std::vector<int64_t>& strides = attributes.integers("strides");
  const std::vector<int64_t>& pads = attributes.integers("pads");
  const auto dilations = attributes.integers("dilations", std::vector<int64_t>(rank, 1));
  for (size_t i = 0; i < rank; ++i) {
    window.in[lead + i] = x[i + 2];
    window.out[lead + i] = out[i + 2];
    window.kernel[lead + i] = kernel[i];
    window.stride[lead + i] = strides[i];
    window.dilation[lead + i] = dilations[i];
    window.pad_begin[lead + i] = pads[i];
    window.pad_end[lead + i] = pads[i + rank];
  }
  return window;
}

int64_t taps_at(const Window& w, int64_t position, std::vector<Tap>& inside) {
  const Extents origin = {position / (w.out[1] * w.out[2]), position / w.out[2] % w.out[1],
                          position % w.out[2]};
  inside.clear();
  int64_t padded = 0;
  int64_t number = 0;
  for (int64_t d = 0; d < w.kernel[0]; ++d)
    for (int64_t h = 0; h < w.kernel[1]; ++h)
      for (int64_t i = 0; i < w.kernel[2]; ++i, ++number) {
        const Extents at = {w.at(0, origin[0], d), w.at(1, origin[1], h), w.at(2, origin[2], i)};
        bool within = true;
        bool within_padded = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          within &= at[axis] >= 0 && at[axis] < w.in[axis];
          within_padded &= at[axis] < w.in[axis] + w.pad_end[axis];
        }
        padded += within_padded;
        if (within) inside.push_back({number, (at[0] * w.in[1] + at[1]) * w.in[2] + at[2]});
      }
  return padded;
}

}  // namespace reverie::reference
