#include "worldmodel/batch/rollout_episodes.h"

#include <utility>

namespace reverie {

RolloutEpisodes::RolloutEpisodes(Rollouts rollouts) : rollouts_(std::move(rollouts)) {
  for (int i = 0; i < rollouts_.state_count(); ++i) {
    Observation state = rollouts_.state(i);
    keys_.push_back(state.state_key);
    node_counts_.push_back(state.graph.node_count());
    masks_.push_back(std::move(state.mask));
  }
}

}  // namespace reverie
