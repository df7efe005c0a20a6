#pragma once

#include <memory>

#include "controller/policy/actor_critic.h"
#include "controller/train/clone.h"
#include "controller/train/rollout.h"
#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/metrics.h"
#include "worldmodel/network/checkpoint.h"
#include "worldmodel/network/cut_minibatch.h"

namespace reverie {

/// Improves a policy by playing in a LatentEnvironment. It cannot tell a dream from reality.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual std::string name() const = 0;
  /// The policy as it stands; valid as long as the trainer.
  virtual Policy& policy() = 0;
  /// Computes there from now on. The environment it plays in must do so too.
  virtual void to_device(torch::Device device) = 0;
  /// Cuts its minibatches, which several processes share that all call this alike. Where
  /// require_learnable allows it.
  virtual void share(const Shares&) { throw InternalError(name() + " has no minibatches to cut"); }
  /// One update: plays one batch of episodes (seeded by `seed`) and learns from it. `progress` in
  /// [0, 1] is the share of training done, for schedules. Metrics begin with
  /// "charts/return" and "charts/length", means; other names are "losses/..." or "charts/...".
  virtual Metrics update(LatentEnvironment& environment, double progress, uint64_t seed) = 0;
  /// Imitates before the first update. A trainer whose policy cannot be fitted does nothing and
  /// returns nothing.
  virtual Metrics imitate(const Demonstrations&, const CloneConfig&, uint64_t) { return {}; }

  /// The policy alone, tensors under "policy".
  virtual void store_policy(Checkpoint& checkpoint) const = 0;
  virtual void restore_policy(const Checkpoint& checkpoint) = 0;
  /// Everything that the next update depends on, so that restore and go on equals not stopping.
  virtual void store(Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
};

/// InputError where a loss is not finite, before it spoils the weights.
void require_finite_loss(double loss);

/// Mean return and length of a batch of episodes.
Metrics episode_metrics(const Rollout& rollout);

}  // namespace reverie
