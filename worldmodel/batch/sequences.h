#pragma once

#include <array>
#include <vector>

#include "worldmodel/batch/episode_source.h"
#include "worldmodel/batch/latents.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Episodes side by side, padded behind their ends. B episodes, T the longest one's steps. State t
/// is where action t is taken; reward t, end t and state t + 1 follow from it.
struct SequenceBatch {
  Latents latents;        ///< [B, T + 1, ...]; padding repeats the last state
  LatentMask mask;        ///< [B, T + 1, ...], likewise
  LatentActions actions;  ///< [B, T]; padding is NO-OP
  torch::Tensor reward;   ///< [B, T] float32
  torch::Tensor end;      ///< [B, T] bool: terminated
  torch::Tensor valid;    ///< [B, T] bool: not padding

  int64_t episodes() const { return valid.size(0); }
  int64_t steps() const { return valid.size(1); }
  /// Where state t + 1 belongs to the episode: valid and not terminated. [B, T] bool.
  torch::Tensor continues() const { return valid.logical_and(end.logical_not()); }
  std::array<torch::Tensor*, 11> tensors() {
    return {&latents.z,
            &latents.entities,
            &latents.neighbours,
            &mask.totals,
            &mask.by_entity,
            &actions.primary,
            &actions.entity,
            &actions.index,
            &reward,
            &end,
            &valid};
  }
};

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

}  // namespace reverie
