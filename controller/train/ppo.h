#pragma once

#include <functional>

#include "controller/train/trainer.h"

namespace reverie {

/// Proximal policy optimization with a clipped objective (Schulman et al. 2017, eq. 7) on
/// generalised advantages (Schulman et al. 2016).
struct PpoConfig {
  double gamma = 0.997;
  double lambda = 0.95;
  double clip = 0.2;
  int64_t epochs = 4;
  int64_t minibatch = 512;
  double learning_rate = 3e-4;
  double final_learning_rate = 3e-5;
  double entropy = 0.01;
  double final_entropy = 0.001;
  double value_weight = 0.5;
  double max_gradient = 0.5;
  double target_kl = 0.05;

  template <class V>
  void fields(V& v) {
    v.field("gamma", gamma, "Discount", between(0, 1));
    v.field("lambda", lambda, "Decay of generalised advantages", between(0, 1));
    v.field("clip", clip, "Clip of the probability ratio", above(0));
    v.field("epochs", epochs, "Passes over a batch of episodes", at_least(1));
    v.field("minibatch", minibatch, "Steps in a minibatch", at_least(1));
    v.field("learning_rate", learning_rate, "Learning rate of Adam at the start", above(0));
    v.field("final_learning_rate", final_learning_rate, "And at the end, linear between", above(0));
    v.field("entropy", entropy, "Weight of the entropy at the start", at_least(0));
    v.field("final_entropy", final_entropy, "And at the end, linear between", at_least(0));
    v.field("value_weight", value_weight, "Weight of the critic's loss", at_least(0));
    v.field("max_gradient", max_gradient, "Norm to which gradients are clipped", above(0));
    v.field("target_kl", target_kl, "An update stops above this divergence", above(0));
  }
};

/// 0 .. n - 1 in an order that `rng` draws, [n] int64.
torch::Tensor shuffled_indices(int64_t n, Rng& rng);

/// What the clipped objective gains (equation 7) of each ratio of probabilities.
torch::Tensor clipped_gain(const torch::Tensor& ratio, const torch::Tensor& advantage, double clip);

/// N steps to learn from. Masks are part of what `evaluate` looks up: those shown when acting.
struct PpoBatch {
  torch::Tensor log_probability;  ///< [N], when acting
  torch::Tensor advantage;        ///< [N]
  torch::Tensor target;           ///< [N], of the critic
  /// Evaluates the steps with these indices ([M] int64) under the present weights.
  std::function<Evaluation(const torch::Tensor& index)> evaluate;
};

/// The optimizing half of PPO, for any network that can evaluate its steps.
class PpoLearner {
 public:
  PpoLearner(std::vector<torch::Tensor> parameters, const PpoConfig& config);

  /// Minibatches are cut, and shared by several processes that update alike.
  void share(const Shares& shares) { shares_ = shares; }

  /// `progress` in [0, 1] drives the schedules. Metrics, "losses/...": total, value, entropy, kl,
  /// clipped, gradient, first_ratio_error (largest |ratio - 1| before the first step).
  Metrics update(const PpoBatch& batch, double progress, Rng& rng);

  torch::optim::Adam& optimizer() { return optimizer_; }
  const torch::optim::Adam& optimizer() const { return optimizer_; }

 private:
  struct Sums;
  struct Losses;
  Losses losses(const PpoBatch& batch, const torch::Tensor& index, double entropy) const;
  bool minibatch_step(const PpoBatch& batch, const torch::Tensor& index, double entropy,
                      Sums& sums);

  PpoConfig config_;
  torch::optim::Adam optimizer_;
  Shares shares_;
};

/// Keeps the critic's targets near unit size: divides by the root mean square of the returns seen
/// so far.
class ReturnScale {
 public:
  void observe(const torch::Tensor& returns);
  /// Those of a rollout; where a trajectory was truncated, `last_value` [B] stands for the rest.
  void observe(const Rollout& rollout, const torch::Tensor& last_value, double gamma);
  double value() const { return count_ > 0 ? std::sqrt(squares_ / count_) + 1e-8 : 1.0; }
  torch::Tensor state() const { return torch::tensor({squares_, count_}, torch::kFloat64); }
  void set_state(const torch::Tensor& state);

 private:
  double squares_ = 0, count_ = 0;
};

/// PPO on latent observations.
class PpoTrainer : public Trainer {
 public:
  PpoTrainer(const LatentSpec& spec, const ActorCriticConfig& net, const PpoConfig& config,
             uint64_t seed);

  std::string name() const override { return "ppo"; }
  Policy& policy() override { return policy_; }
  void to_device(torch::Device device) override { net_->to(device); }
  void share(const Shares& shares) override;
  Metrics update(LatentEnvironment& environment, double progress, uint64_t seed) override;
  Metrics imitate(const Demonstrations& demonstrations, const CloneConfig& config,
                  uint64_t seed) override;
  void store_policy(Checkpoint& checkpoint) const override;
  void restore_policy(const Checkpoint& checkpoint) override;
  void store(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  PpoConfig config_;
  ActorCritic net_;
  ActorCriticPolicy policy_;
  PpoLearner learner_;
  ReturnScale scale_;
  Shares shares_;
};

}  // namespace reverie
