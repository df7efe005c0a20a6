#pragma once

#include <memory>
#include <string>

#include "core/base/random.h"
#include "worldmodel/latent.h"
#include "worldmodel/torch.h"

namespace reverie {

struct PolicyDecision {
  LatentActions actions;
  torch::Tensor log_probability;  ///< [B], of the chosen actions under the mask
  torch::Tensor value;            ///< [B], or undefined where the policy has no critic
};

/// Chooses actions from latent observations. Masked: an action the counts do not allow has
/// probability zero.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;
  /// Greedy takes the most probable action; otherwise actions are sampled with `rng`.
  virtual PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) = 0;
};

}  // namespace reverie
