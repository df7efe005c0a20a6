#pragma once

#include <vector>

#include "datasets/rollouts.h"
#include "worldmodel/batch/episode_source.h"

namespace reverie {

/// A rollout directory as a source. Reads every state once to learn keys, sizes of graphs and
/// masks.
class RolloutEpisodes : public EpisodeSource {
 public:
  explicit RolloutEpisodes(Rollouts rollouts);

  const EnvSpec& spec() const override { return rollouts_.info().spec; }
  int state_count() const override { return rollouts_.state_count(); }
  uint64_t state_key(int index) const override { return keys_.at(index); }
  Observation state(int index) const override { return rollouts_.state(index); }
  const ActionMask& mask(int index) const override { return masks_.at(index); }
  int node_count(int index) const override { return node_counts_.at(index); }
  const std::vector<Episode>& episodes() const override { return rollouts_.episodes(); }
  Split split(int episode) const override { return rollouts_.split(episode); }
  uint64_t fingerprint() const override { return rollouts_.fingerprint(); }

 private:
  Rollouts rollouts_;
  std::vector<uint64_t> keys_;
  std::vector<ActionMask> masks_;
  std::vector<int> node_counts_;
};

}  // namespace reverie
