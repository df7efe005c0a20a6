#pragma once

#include "controller/policy/policy.h"
#include "worldmodel/latent/latent_environment.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// T steps of B trajectories, from a reset until all have ended. Steps after the end of a
/// trajectory are there but not `alive`.
struct Rollout {
  LatentObservation observation;  ///< [T, B, ...], before the action; masks as they were shown
  LatentActions actions;          ///< [T, B]
  torch::Tensor log_probability;  ///< [T, B]
  torch::Tensor value;            ///< [T, B], undefined without a critic
  torch::Tensor reward;           ///< [T, B]
  torch::Tensor terminated;       ///< [T, B] bool, true at the step that ended so
  torch::Tensor truncated;        ///< [T, B] bool
  torch::Tensor alive;            ///< [T, B] bool
  LatentObservation last;         ///< [B, ...], where each trajectory ended

  int64_t steps() const { return reward.size(0); }
  int64_t batch() const { return reward.size(1); }
  /// [B], sums of rewards.
  torch::Tensor returns() const { return reward.sum(0); }
  /// [B], actions taken.
  torch::Tensor lengths() const { return alive.sum(0); }
};

/// Plays on from `observation`, where B episodes have just begun.
Rollout play_from(LatentEnvironment& environment, LatentObservation observation, Policy& policy,
                  bool greedy, Rng& rng);
/// Plays one batch of episodes.
Rollout play(LatentEnvironment& environment, Policy& policy, bool greedy, uint64_t seed, Rng& rng);

/// Generalised advantage estimation (Schulman et al. 2016, eq. 16). All [T, B] but last_value [B]:
/// the critic where each trajectory ended, used where it was truncated before the horizon; after a
/// terminated step and at the horizon the value is 0. Zero where not alive. Who sees the time to go
/// must not be promised what lies beyond it (Pardo et al. 2018, section 3): rewards that M takes
/// for a little more than they are would else be worth 1 / (1 - gamma) of themselves to a policy
/// that never stops.
torch::Tensor generalized_advantage(const Rollout& rollout, const torch::Tensor& value,
                                    const torch::Tensor& last_value, double gamma, double lambda);
/// Discounted sums of the rewards that follow, no bootstrap, [T, B].
torch::Tensor rewards_to_go(const torch::Tensor& reward, double gamma);

}  // namespace reverie
