#pragma once

#include <array>

#include "controller/train/clone.h"
#include "controller/train/rollout.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie {

/// N states of episodes, one below the other, each episode's in order.
struct ReplaySteps {
  LatentObservation observation;  ///< [N, ...], masks as they were shown
  LatentActions actions;          ///< [N], taken there
  torch::Tensor reward;           ///< [N], of that action
  /// [N] int64: actions to the episode's end, that one included. 0: none was taken, as the episode
  /// was cut off when it reached this state.
  torch::Tensor left;

  int64_t size() const { return left.defined() ? left.size(0) : 0; }
  std::array<torch::Tensor*, 12> tensors() {
    auto& seen = observation;
    return {&seen.z,         &seen.h,        &seen.mask.totals, &seen.mask.by_entity,
            &seen.to_go,     &seen.entities, &seen.entity_h,    &actions.primary,
            &actions.entity, &actions.index, &reward,           &left};
  }
};

/// n transitions to learn from.
struct ReplaySample {
  LatentObservation observation;  ///< [n, ...]
  LatentActions actions;          ///< [n]
  torch::Tensor reward;           ///< [n], discounted sum over the steps up to `next`
  LatentObservation next;         ///< [n, ...]; anything where the discount is 0
  torch::Tensor discount;         ///< [n], of the worth of `next`; 0 where the episode had ended
};

/// Remembers the last `capacity` states of the episodes that it is given, on their device.
class ReplayMemory {
 public:
  explicit ReplayMemory(int64_t capacity) : capacity_(capacity) {}

  void add(const Rollout& rollout);
  /// Episodes that ended with their last step.
  void add(const Demonstrations& demonstrations);
  /// Transitions.
  int64_t size() const { return chosen_.defined() ? chosen_.size(0) : 0; }
  /// Draws n of them, with replacement. `next` lies so many `steps` later, or where the episode
  /// ended or was cut off; steps 0: always there.
  ReplaySample sample(int64_t n, int64_t steps, double gamma, Rng& rng) const;

  /// Tensors under "replay.".
  void store(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint, torch::Device device);

 private:
  void add(ReplaySteps steps);
  void set(ReplaySteps steps);

  int64_t capacity_;
  ReplaySteps steps_;
  torch::Tensor chosen_;  // rows at which an action was taken, on the CPU
};

}  // namespace reverie
