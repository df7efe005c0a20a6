#pragma once

#include <memory>
#include <span>
#include <vector>

#include "controller/train/trained_policy.h"
#include "core/search/prior.h"
#include "env/environment.h"
#include "worldmodel/batch/latents.h"
#include "worldmodel/encoder/entity_latents.h"

namespace reverie {

/// A state as V sees it, with what M carried there: tensors of one row on M's device.
struct SeenState {
  LatentState latent;
  LatentMask mask;
};

/// A policy as the prior of searches over an EnvironmentProblem: asks V, M and C about states of
/// the real environment, as LiveLatentEnvironment would show them, but along a tree of
/// trajectories. Probabilities are given that the action is not NO-OP. What it remembers of a state
/// is a SeenState. Not for concurrent use.
class PolicyPrior : public MovePrior {
 public:
  /// Keeps the `most_actions` likeliest actions of a state. InputError when the policy was trained
  /// for other actions than the environment has.
  PolicyPrior(TrainedPolicy trained, const EnvSpec& environment, int64_t most_actions);

  /// InputError when the policy gives no probabilities of all actions.
  std::vector<Advice> look(std::span<const Arrival> arrivals, WorkerPool* pool) const override;

 private:
  SeenState see(std::span<const Arrival> arrivals, std::span<const Observation> observed) const;
  LatentState carry(std::span<const Arrival> arrivals, const Latents& latents) const;
  torch::Tensor to_go(std::span<const Arrival> arrivals) const;
  std::vector<Advice> split(const SeenState& seen, const ActionPriors& priors) const;

  TrainedPolicy trained_;
  mutable EntityLatents latents_;
  EnvSpec spec_;
  int64_t most_actions_;
};

}  // namespace reverie
