#pragma once

#include <array>

#include "worldmodel/batch/rows.h"
#include "worldmodel/batch/sequences.h"

namespace reverie {

/// N real steps. Those of a batch of B episodes, T steps each, stand in the order of episode and
/// step: step t of episode b is number b T + t.
struct BatchSteps {
  Latents before, after;       ///< of the states before and after the step
  LatentMask mask, next_mask;  ///< likewise
  LatentActions actions;       ///< [N]
  torch::Tensor reward, end;   ///< [N]
  torch::Tensor valid;         ///< [N] bool: not padding
  torch::Tensor continues;     ///< [N] bool: the state after the step belongs to the episode

  int64_t size() const { return reward.size(0); }
  std::array<torch::Tensor*, 17> tensors() {
    return {&before.z,
            &before.entities,
            &before.neighbours,
            &after.z,
            &after.entities,
            &after.neighbours,
            &mask.totals,
            &mask.by_entity,
            &next_mask.totals,
            &next_mask.by_entity,
            &actions.primary,
            &actions.entity,
            &actions.index,
            &reward,
            &end,
            &valid,
            &continues};
  }
};

BatchSteps steps_of(const SequenceBatch& batch);

/// What M should say of rows.
struct RowTargets {
  torch::Tensor latent;  ///< [n, latent], afterwards
  torch::Tensor counts;  ///< [n, A], afterwards
  /// [n] float32: of these two in a mean over rows. 0 where the episode doesn't go on; a neighbour
  /// weighs a quarter of the entity acted in, as most stay what they are.
  torch::Tensor weight;
};
RowTargets targets_of(const Rows& rows, const BatchSteps& steps);

}  // namespace reverie
