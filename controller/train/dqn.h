#pragma once

#include "controller/train/ppo.h"
#include "controller/train/replay.h"

namespace reverie {

struct DqnConfig {
  double gamma = 0.99;
  double learning_rate = 1e-3;
  double first_epsilon = 1;
  double final_epsilon = 0.05;
  int64_t gradient_steps = 32;
  int64_t minibatch = 64;
  int64_t steps = 1;
  double target_rate = 0.01;
  int64_t memory = 10000;

  template <class V>
  void fields(V& v) {
    v.field("gamma", gamma, "Discount", between(0, 1));
    v.field("learning_rate", learning_rate, "Learning rate of Adam", above(0));
    v.field("first_epsilon", first_epsilon, "Share of random actions at the start", between(0, 1));
    v.field("final_epsilon", final_epsilon,
            "And at the end, linear between; also of sampled episodes afterwards", between(0, 1));
    v.field("gradient_steps", gradient_steps,
            "Minibatches learned from after each batch of episodes", at_least(1));
    v.field("minibatch", minibatch, "Transitions in a minibatch", at_least(1));
    v.field("steps", steps,
            "Rewards that a target sums before the target network stands for the rest; 0: all of "
            "the episode",
            at_least(0));
    v.field("target_rate", target_rate,
            "Share by which the target network follows at each gradient step", between(0, 1));
    v.field("memory", memory, "States that are remembered; the oldest are forgotten", at_least(1));
  }
};

/// Takes the action of the highest Q; sampling, a random one with probability epsilon.
class DqnPolicy : public Policy {
 public:
  /// Random actions are NO-OP with these log odds against another primary action.
  DqnPolicy(ActorCritic net, double no_op_logit);
  std::string name() const override { return "dqn"; }
  PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) override;
  void set_epsilon(double epsilon) { epsilon_ = epsilon; }
  void set_value_scale(double scale) { value_scale_ = scale; }

 private:
  ActorCritic net_;
  RandomPolicy random_;
  double epsilon_ = 0, value_scale_ = 1;
};

/// Double DQN (Mnih et al. 2015; van Hasselt et al. 2016, eq. 4). Actor and critic are one dueling
/// network, which a target network follows slowly (Lillicrap et al. 2016). The highest Q is that of
/// valid actions alone. Targets of one step are of the best policy, whatever was played; those of n
/// steps (Hessel et al. 2018, section 3) carry a reward back faster, but are of the random actions,
/// too, that were played in between.
class DqnTrainer : public Trainer {
 public:
  DqnTrainer(const LatentSpec& spec, ActorCriticConfig net, const DqnConfig& config, uint64_t seed);

  std::string name() const override { return "dqn"; }
  Policy& policy() override { return policy_; }
  void to_device(torch::Device device) override;
  Metrics update(LatentEnvironment& environment, double progress, uint64_t seed) override;
  /// Q-learning on all demonstrations, good or not, which stay in its memory.
  Metrics imitate(const Demonstrations& demonstrations, const CloneConfig& config,
                  uint64_t seed) override;
  void store_policy(Checkpoint& checkpoint) const override;
  void restore_policy(const Checkpoint& checkpoint) override;
  void store(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  void set_scale(const torch::Tensor& returns);
  /// Mean loss of so many steps.
  double learn(int64_t steps, Rng& rng);
  double gradient_step(const ReplaySample& sample);
  /// What the networks say of a sample's `next`, discounted.
  torch::Tensor worth_of_next(const ReplaySample& sample);
  void follow(double rate);

  DqnConfig config_;
  ActorCritic net_, target_;
  DqnPolicy policy_;
  torch::optim::Adam optimizer_;
  ReturnScale scale_;
  ReplayMemory memory_;
  torch::Device device_ = torch::kCPU;
};

}  // namespace reverie
