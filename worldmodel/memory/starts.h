#pragma once

#include <array>
#include <limits>
#include <vector>

#include "worldmodel/batch/sequences.h"
#include "worldmodel/memory/world_model.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// So many are walked along at once.
inline constexpr int kEpisodesAtOnce = 64;

/// N real states to begin from, the recurrent state warmed up along the real steps before them.
struct StartStates {
  LatentState state;      ///< B = N
  LatentMask mask;        ///< likewise
  torch::Tensor steps;    ///< [N] int64: real steps before
  torch::Tensor episode;  ///< [N] int64: index of the episode in the data set
  LatentActions actions;  ///< [N], taken there
  torch::Tensor reward;   ///< [N] float32, of that step

  int64_t size() const { return steps.size(0); }
  std::array<torch::Tensor*, 13> tensors() {
    return {&state.latents.z,
            &state.latents.entities,
            &state.latents.neighbours,
            &state.hidden,
            &state.cell,
            &mask.totals,
            &mask.by_entity,
            &steps,
            &episode,
            &actions.primary,
            &actions.entity,
            &actions.index,
            &reward};
  }
};

/// Which states to begin from.
struct StartChoice {
  bool first_only = false;  ///< only where episodes begin
  bool to_go_on =
      true;  ///< with what M alone needs, cell and neighbours; otherwise these are undefined
  int64_t most = std::numeric_limits<int64_t>::max();  ///< evenly spread over those that there are
};

/// States of these episodes (ascending) at which an action was taken, in order of episode and step.
/// A state takes some S * (2 hidden + latent) * 4 bytes, 80 KB for 64 entities of the default
/// widths, and its mask as much again: so many are not to be kept all.
StartStates collect_starts(const LatentEpisodes& data, const std::vector<int>& episodes,
                           WorldModel& world, const StartChoice& choice);

}  // namespace reverie
