#pragma once

#include <span>
#include <vector>

#include "tools/policy/policy_method.h"
#include "core/base/parallel.h"
#include "env/rewrite/rewrite_environment.h"
#include "worldmodel/latent.h"

namespace reverie {

/// A state as V sees it, with what M carried there: tensors of one row on M's device.
struct SeenState {
  LatentState latent;
  LatentMask mask;
};

struct GuidedAction {
  Action action;
  double log_prior = 0;  ///< log-probability, given that the action is not NO-OP
};

/// What a policy says of a state.
struct Guidance {
  SeenState seen;
  std::vector<GuidedAction> actions;  ///< without NO-OP, the likeliest first
  double value = 0;                   ///< rewards still to come, in the environment's units
};

/// A state to look at: where `action` led from a state that was seen, or a start.
struct Arrival {
  const RewriteEnvironment* environment = nullptr;
  int depth = 0;   ///< actions since the start
  SeenState from;  ///< undefined tensors at a start
  Action action;
};

/// Asks V, M and C about states of the real environment, as LiveLatentEnvironment would show them,
/// but along a tree of trajectories. Not for concurrent use.
class PolicyGuide {
 public:
  /// Keeps the `most_actions` likeliest actions of a state. InputError when the policy was trained
  /// for other actions than the environment has.
  PolicyGuide(TrainedPolicy trained, const EnvSpec& environment, int64_t most_actions);

  /// In one batch; all are starts or none is. `pool` may be null. InputError when the policy gives no
  /// probabilities of all actions.
  std::vector<Guidance> look(std::span<const Arrival> arrivals, WorkerPool* pool) const;

 private:
  SeenState see(std::span<const Arrival> arrivals, std::span<const Observation> observed) const;
  LatentState carry(std::span<const Arrival> arrivals, const Latents& latents) const;
  torch::Tensor to_go(std::span<const Arrival> arrivals) const;
  std::vector<Guidance> split(const SeenState& seen, const ActionPriors& priors) const;

  TrainedPolicy trained_;
  EnvSpec spec_;
  int64_t most_actions_;
};

}  // namespace reverie
