#include "core/onnx/auto_pad.h"

#include <algorithm>

namespace reverie::proto {

Shape same_pads(std::span<const int64_t> extents, std::span<const int64_t> kernel,
                std::span<const int64_t> strides, std::span<const int64_t> dilations, bool upper) {
  const size_t rank = extents.size();
  Shape pads(2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t positions = (extents[i] + strides[i] - 1) / strides[i];
    const int64_t window = (kernel[i] - 1) * dilations[i] + 1;
    const int64_t total = std::max<int64_t>((positions - 1) * strides[i] + window - extents[i], 0);
    const int64_t less = total / 2;
    pads[i] = upper ? less : total - less;
    pads[i + rank] = total - pads[i];
  }
  return pads;
}

}  // namespace reverie::proto
