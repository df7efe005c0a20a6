#pragma once

#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/random.h"
#include "worldmodel/batch/latents.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct PolicyDecision {
  LatentActions actions;
  torch::Tensor log_probability;  ///< [B], of the chosen actions under the mask
  torch::Tensor value;            ///< [B], or undefined where the policy has no critic
};

/// What a policy thinks of B states: every valid action, one below the other, by state, primary
/// action, entity and index.
struct ActionPriors {
  torch::Tensor state;            ///< [N] int64, row of the observation
  LatentActions actions;          ///< [N]
  torch::Tensor log_probability;  ///< [N]; probabilities of a state's actions sum to 1
  /// [B]: rewards still to come under the policy, in the environment's units.
  torch::Tensor value;
};

/// Chooses actions from latent observations. Masked: an action the counts do not allow has
/// probability zero.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;
  /// Greedy takes the most probable action; otherwise actions are sampled with `rng`.
  virtual PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) = 0;
  /// What a search is guided by. InputError where the policy only chooses.
  virtual ActionPriors priors(const LatentObservation&) {
    throw InputError(
        "the policy '{}' cannot guide a search; search by episodes, or train a policy "
        "with ppo",
        name());
  }
};

}  // namespace reverie
