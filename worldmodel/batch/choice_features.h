#pragma once

#include "worldmodel/batch/latents.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Columns of `choice_features`.
inline constexpr int kChoiceFeatures = 10;

/// Describes which of the equal choices at an entity an action takes: (index + 1/2) / count, sine
/// and cosine of the index at periods 2, 8, 32 and 128, log(1 + count) / log(1 + max_choices).
/// index: int64 [*]; count: int64 [*], taken as at least index + 1; the result is float32 [*,
/// kChoiceFeatures].
torch::Tensor choice_features(const torch::Tensor& index, const torch::Tensor& count,
                              int max_choices);

/// Choices of primary actions [B] by entity, [B, S] int64.
torch::Tensor counts_by_entity(const LatentMask& mask, const torch::Tensor& primary);
/// Of primary actions [B] the choices of these numbers [B]: entity by entity, then by index.
LatentActions choice_at(const LatentMask& mask, const torch::Tensor& primary,
                        const torch::Tensor& number);
/// Actions of several states, one below the other.
struct ListedActions {
  torch::Tensor state;    ///< [N] int64, row of the mask
  LatentActions actions;  ///< [N]
};
/// Every valid action, by state, primary action, entity and index.
ListedActions valid_actions(const LatentMask& mask);
/// Choices [B] that the mask has of B actions, at their entities.
torch::Tensor count_of(const LatentMask& mask, const LatentActions& actions);

}  // namespace reverie
