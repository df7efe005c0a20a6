#pragma once

#include <limits>

#include "worldmodel/network/torch.h"

namespace reverie {

/// Log-probability of what cannot be.
inline constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Rows of several distributions, one below the other: `segment` [N] int64 says of which one a row
/// is, each below `segments`.

/// 0 .. n - 1, int64, on the device of `like`.
torch::Tensor range_like(int64_t n, const torch::Tensor& like);
/// Of logits [N] that are bounded, so that sums of exponentials do not overflow.
torch::Tensor log_softmax_within(const torch::Tensor& logits, const torch::Tensor& segment,
                                 int64_t segments);
/// Entropy of each distribution, [segments]; `inner` [N]: what each row has by itself, or
/// undefined.
torch::Tensor entropy_within(const torch::Tensor& log_probability, const torch::Tensor& inner,
                             const torch::Tensor& segment, int64_t segments);
/// The row with the highest value [N] in each segment, [segments]. Rows ascend by segment, and
/// every segment has one.
torch::Tensor best_within(const torch::Tensor& value, const torch::Tensor& segment,
                          int64_t segments);

}  // namespace reverie
