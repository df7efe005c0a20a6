#pragma once

#include "worldmodel/latent.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Columns of `describe_location`.
inline constexpr int kLocationFeatures = 10;

/// Describes which of the valid secondary choices an action takes: (index + 1/2) / count, sine and
/// cosine of the index at periods 2, 8, 32 and 128, log(1 + count) / log(1 + max_secondary).
/// index: int64 [*]; count: int64 [*], taken as at least index + 1; the result is float32
/// [*, kLocationFeatures].
torch::Tensor describe_location(const torch::Tensor& index, const torch::Tensor& count,
                                int max_secondary);

/// Counts [B, A] of the actions' primary choices, [B].
torch::Tensor count_of(const torch::Tensor& counts, const LatentActions& actions);

}  // namespace reverie
