#pragma once

#include <memory>

#include "controller/train/trained_policy.h"
#include "datasets/collect.h"

namespace reverie {

struct PolicyAgentConfig {
  uint64_t salt = 0;       ///< agents of different salt draw differently in episodes of equal seeds
  double dreamt = 0;       ///< share of the episodes that are dreamt before they are played
  double temperature = 1;  ///< of these dreams
};

/// Collects by sampling from a trained policy, with M's recurrent state along the episode
/// ("policy"). An episode that is dreamt first ("dreamt") is then played action by action, and ends
/// with NO-OP where the next one is invalid: M, fitted to it, sees where it was wrong. Forks share
/// V, M and C, which are for one thread at a time: collect with one worker.
std::unique_ptr<CollectAgent> make_policy_agent(TrainedPolicy trained,
                                                const PolicyAgentConfig& config);

}  // namespace reverie
