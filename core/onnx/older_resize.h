#pragma once

#include <span>
#include <string_view>

#include "core/ir/attributes.h"
#include "core/ir/types.h"

/// What Resize of the table means in the words of older opsets and of other forms.
namespace reverie::proto {

inline constexpr int kResizeSince = 10;       ///< before, it is Upsample
inline constexpr int kNewerResizeSince = 11;  ///< before, it cannot say how positions correspond

/// Whether all runtimes read scales of opset 10 and older alike: position i of the result lies at
/// i / scale, but where the nearest element then is, they see differently unless extents grow, or
/// shrink by whole factors.
bool has_one_reading(std::string_view mode, std::span<const double> scales);
/// Whether the attributes of a Resize say what one of opset 10 or older can say.
bool is_older_resize(const Attributes& attributes);
/// The attributes of a Resize of such an input, with `scales` in place of `sizes` where these give
/// the same sizes.
Attributes with_scales(Attributes attributes, const Shape& input);

}  // namespace reverie::proto
