#pragma once

#include <cstdint>
#include <span>

#include "core/ir/types.h"

namespace reverie::proto {

/// The pads, begins first, that `auto_pad` means for a window over these extents (ONNX operator
/// specification, Conv: SAME gives ceil(extent / stride) positions, the odd element at the end for
/// SAME_UPPER and in front for SAME_LOWER).
Shape same_pads(std::span<const int64_t> extents, std::span<const int64_t> kernel,
                std::span<const int64_t> strides, std::span<const int64_t> dilations, bool upper);

}  // namespace reverie::proto
