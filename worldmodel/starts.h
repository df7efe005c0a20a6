#pragma once

#include <vector>

#include "worldmodel/episode_source.h"
#include "worldmodel/torch.h"
#include "worldmodel/world_model.h"

namespace reverie {

/// Episodes side by side, padded behind their ends. B episodes, T the longest one's steps. State t
/// is where action t is taken; reward t, end t and state t + 1 follow from it.
struct SequenceBatch {
  torch::Tensor z;         ///< [B, T + 1, latent]
  torch::Tensor counts;    ///< [B, T + 1, A] int64; padding repeats the last state
  LatentActions actions;   ///< [B, T]; padding is NO-OP
  torch::Tensor reward;    ///< [B, T] float32
  torch::Tensor end;       ///< [B, T] bool: terminated
  torch::Tensor valid;     ///< [B, T] bool: not padding

  int64_t episodes() const { return z.size(0); }
  int64_t steps() const { return actions.primary.size(1); }
  /// Where state t + 1 belongs to the episode: valid and not terminated. [B, T] bool.
  torch::Tensor continues() const { return valid.logical_and(end.logical_not()); }
  SequenceBatch to(torch::Device device) const;
};

/// The episodes of a data set with the latents and masks of its states.
class LatentEpisodes {
 public:
  /// latents: [states, latent].
  LatentEpisodes(const EpisodeSource& data, torch::Tensor latents);

  const EpisodeSource& data() const { return data_; }
  const torch::Tensor& latents() const { return latents_; }  ///< [states, latent]
  const torch::Tensor& counts() const { return counts_; }    ///< [states, A] int64
  SequenceBatch batch(const std::vector<int>& episodes) const;

 private:
  const EpisodeSource& data_;
  torch::Tensor latents_;
  torch::Tensor counts_;
  std::vector<std::vector<int>> secondary_index_;  // per episode, index among the valid choices
};

/// N real states to begin from, the recurrent state warmed up along the real steps before them.
struct StartStates {
  LatentState state;       ///< B = N
  torch::Tensor counts;    ///< [N, A] int64
  torch::Tensor steps;     ///< [N] int64: real steps before
  torch::Tensor episode;   ///< [N] int64: index of the episode in the data set
  LatentActions actions;   ///< [N], taken there
  torch::Tensor reward;    ///< [N] float32, of that step
  int64_t size() const { return counts.size(0); }
  StartStates select(const torch::Tensor& rows) const;
  StartStates to(torch::Device device) const;
};

/// Every state of these episodes at which an action was taken, in order of episode and step. With
/// `warm_up` false the recurrent state is zero.
StartStates collect_starts(const LatentEpisodes& data, const std::vector<int>& episodes,
                           WorldModel& world, bool warm_up);

}  // namespace reverie
