#pragma once

#include <utility>

#include "controller/train/moving_baseline.h"
#include "controller/train/trainer.h"

namespace reverie {

struct ReinforceConfig {
  double gamma = 0.997;
  double learning_rate = 1e-3;
  double entropy = 0.01;
  double max_gradient = 0.5;
  double baseline_decay = 0.9;

  template <class V>
  void fields(V& v) {
    v.field("gamma", gamma, "Discount", between(0, 1));
    v.field("learning_rate", learning_rate, "Learning rate of Adam", above(0));
    v.field("entropy", entropy, "Weight of the entropy", at_least(0));
    v.field("max_gradient", max_gradient, "Norm to which gradients are clipped", above(0));
    v.field("baseline_decay", baseline_decay, "Decay of the moving baseline", between(0, 1));
  }
};

/// Only chooses: its critic knows no more than what imitation told it, of a policy that updates
/// have changed.
class ReinforcePolicy : public ActorCriticPolicy {
 public:
  explicit ReinforcePolicy(ActorCritic net) : ActorCriticPolicy("reinforce", std::move(net)) {}
  ActionPriors priors(const LatentObservation& observation) override {
    return Policy::priors(observation);
  }
};

/// REINFORCE (Williams 1992) with a moving mean of the rewards to go at each step as baseline.
class ReinforceTrainer : public Trainer {
 public:
  ReinforceTrainer(const LatentSpec& spec, const ActorCriticConfig& net,
                   const ReinforceConfig& config, uint64_t seed);

  std::string name() const override { return "reinforce"; }
  Policy& policy() override { return policy_; }
  void to_device(torch::Device device) override;
  Metrics update(LatentEnvironment& environment, double progress, uint64_t seed) override;
  Metrics imitate(const Demonstrations& demonstrations, const CloneConfig& config,
                  uint64_t seed) override {
    return clone_actions(net_, demonstrations, demonstrations.to_come(config_.gamma), config, seed);
  }
  void store_policy(Checkpoint& checkpoint) const override;
  void restore_policy(const Checkpoint& checkpoint) override;
  void store(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  torch::Tensor advantages(const Rollout& rollout);

  ReinforceConfig config_;
  ActorCritic net_;
  ReinforcePolicy policy_;
  torch::optim::Adam optimizer_;
  MovingBaseline baseline_;  ///< of the rewards to go, by step
};

}  // namespace reverie
