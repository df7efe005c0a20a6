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

/// Where B actions lie; int64 [B] each.
struct RegionActions {
  torch::Tensor region;
  torch::Tensor index;  ///< of the choice among those of its rule in the region
  torch::Tensor count;  ///< how many these are
};

/// Finds the region of each action by the sums of its rule's row of mask.regions. A secondary choice
/// that the mask doesn't have lies behind the last one of the last region. Where S = 1 all is region 0.
RegionActions locate(const LatentActions& actions, const LatentMask& mask);
/// Choices of primary actions [B] by region, [B, S] int64. S > 1.
torch::Tensor counts_by_region(const LatentMask& mask, const torch::Tensor& primary);
/// Number [B] of the first of them in regions [B]; 0 where S = 1.
torch::Tensor first_in_region(const LatentMask& mask, const torch::Tensor& primary,
                              const torch::Tensor& region);
/// Choices [B] of primary actions [B] in regions [B].
torch::Tensor count_in(const LatentMask& mask, const torch::Tensor& primary,
                       const torch::Tensor& region);

}  // namespace reverie
