#pragma once

#include <memory>

#include "controller/train/trained_policy.h"
#include "datasets/collect.h"

namespace reverie {

/// Collects by sampling from a trained policy, with M's recurrent state along the episode
/// ("policy"). Agents of different salt draw differently in episodes of equal seeds. Forks share V,
/// M and C, which are for one thread at a time: collect with one worker.
std::unique_ptr<CollectAgent> make_policy_agent(TrainedPolicy trained, uint64_t salt);

}  // namespace reverie
