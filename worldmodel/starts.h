#pragma once

#include <array>
#include <limits>
#include <vector>

#include "worldmodel/episode_source.h"
#include "worldmodel/torch.h"
#include "worldmodel/world_model.h"

namespace reverie {

/// Episodes side by side, padded behind their ends. B episodes, T the longest one's steps. State t
/// is where action t is taken; reward t, end t and state t + 1 follow from it.
struct SequenceBatch {
  Latents latents;         ///< [B, T + 1, ...]; padding repeats the last state
  LatentMask mask;         ///< [B, T + 1, ...], likewise
  LatentActions actions;   ///< [B, T]; padding is NO-OP
  torch::Tensor reward;    ///< [B, T] float32
  torch::Tensor end;       ///< [B, T] bool: terminated
  torch::Tensor valid;     ///< [B, T] bool: not padding

  int64_t episodes() const { return valid.size(0); }
  int64_t steps() const { return valid.size(1); }
  /// Where state t + 1 belongs to the episode: valid and not terminated. [B, T] bool.
  torch::Tensor continues() const { return valid.logical_and(end.logical_not()); }
  std::array<torch::Tensor*, 11> tensors() {
    return {&latents.z,       &latents.entities,   &latents.neighbours, &mask.totals, &mask.by_entity,
            &actions.primary, &actions.entity,    &actions.index,      &reward,      &end,
            &valid};
  }
};

/// So many are walked along at once.
inline constexpr int kEpisodesAtOnce = 64;

/// The episodes of a data set with the latents and masks of its states.
class LatentEpisodes {
 public:
  /// latents: of its states.
  LatentEpisodes(const EpisodeSource& data, Latents latents);

  const EpisodeSource& data() const { return data_; }
  const Latents& latents() const { return latents_; }  ///< of the states
  const LatentMask& mask() const { return mask_; }     ///< likewise
  /// Padded to the entities of the state among them that has the most.
  SequenceBatch batch(const std::vector<int>& episodes) const;

 private:
  const EpisodeSource& data_;
  Latents latents_;
  LatentMask mask_;
};

/// N real states to begin from, the recurrent state warmed up along the real steps before them.
struct StartStates {
  LatentState state;       ///< B = N
  LatentMask mask;         ///< likewise
  torch::Tensor steps;     ///< [N] int64: real steps before
  torch::Tensor episode;   ///< [N] int64: index of the episode in the data set
  LatentActions actions;   ///< [N], taken there
  torch::Tensor reward;    ///< [N] float32, of that step

  int64_t size() const { return steps.size(0); }
  std::array<torch::Tensor*, 13> tensors() {
    return {&state.latents.z, &state.latents.entities, &state.latents.neighbours, &state.hidden,
            &state.cell,      &mask.totals,           &mask.by_entity,             &steps,
            &episode,         &actions.primary,       &actions.entity,           &actions.index,
            &reward};
  }
};

/// Which states to begin from.
struct StartChoice {
  bool first_only = false;  ///< only where episodes begin
  bool to_go_on = true;     ///< with what M alone needs, cell and neighbours; otherwise these are undefined
  int64_t most = std::numeric_limits<int64_t>::max();  ///< evenly spread over those that there are
};

/// States of these episodes (ascending) at which an action was taken, in order of episode and step.
/// A state takes some S * (2 hidden + latent) * 4 bytes, 80 KB for 64 entities of the default widths, and
/// its mask as much again: so many are not to be kept all.
StartStates collect_starts(const LatentEpisodes& data, const std::vector<int>& episodes,
                           WorldModel& world, const StartChoice& choice);

}  // namespace reverie
