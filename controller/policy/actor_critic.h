#pragma once

#include "controller/policy/action_head.h"
#include "controller/policy/policy.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct ActorCriticConfig {
  int64_t width = 128;
  bool see_z = true;
  bool see_h = true;
  ActionHeadConfig head;

  template <class V>
  void fields(V& v) {
    v.field("width", width, "Width of the two hidden layers of actor and critic", at_least(1));
    v.field("see_z", see_z,
            "Whether they see what V says; false: zeros, to find what V contributes");
    v.field("see_h", see_h, "Whether they see what M remembers; false: zeros, likewise");
    v.section("head", head, "How actions are scored");
  }
};

/// [z, h, the mean latent of the entities with choices other than NO-OP, to_go], [B, 2 latent +
/// hidden + 1]. Without the third, where an episode offers one entity after the other, the primary
/// action would be chosen for an entity that z alone tells of.
torch::Tensor policy_features(const LatentObservation& observation);
int64_t policy_feature_count(const LatentSpec& spec);

/// Actor and critic as two networks of two hidden layers each over policy_features.
class ActorCriticImpl : public torch::nn::Module {
 public:
  ActorCriticImpl(const LatentSpec& spec, const ActorCriticConfig& config);

  Evaluation evaluate(const LatentObservation& observation, const LatentActions& actions);
  Choice choose(const LatentObservation& observation, bool greedy, Rng& rng);
  torch::Tensor value(const LatentObservation& observation);
  /// Values as the critic gives them.
  ActionPriors priors(const LatentObservation& observation);
  /// Q of every valid action: the critic's value, and how far its logits lie above the mean of the
  /// state's (a dueling network: Wang et al. 2016, eq. 9).
  ActionScores action_values(const LatentObservation& observation);

 private:
  /// The observation without what the configuration hides.
  LatentObservation seen(LatentObservation observation) const;
  ActionInputs action_inputs(const LatentObservation& seen);
  torch::Tensor value_of(const LatentObservation& seen);

  bool see_z_, see_h_;
  torch::nn::Sequential actor_{nullptr}, critic_{nullptr};
  ActionHead head_{nullptr};
};
TORCH_MODULE(ActorCritic);

/// Two hidden layers of `width` with tanh, then `outputs` without where outputs > 0.
torch::nn::Sequential two_layers(int64_t inputs, int64_t width, int64_t outputs);

class ActorCriticPolicy : public Policy {
 public:
  ActorCriticPolicy(std::string name, ActorCritic net) : name_(std::move(name)), net_(net) {}
  std::string name() const override { return name_; }
  PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) override;
  ActionPriors priors(const LatentObservation& observation) override;
  /// Of one unit of the critic, in rewards; 1 to begin with.
  void set_value_scale(double scale) { value_scale_ = scale; }

 private:
  std::string name_;
  ActorCritic net_;
  double value_scale_ = 1;
};

/// Uniform over the valid primary actions other than NO-OP, then over their choices. NO-OP has the
/// given weight beside their 1; it is taken where nothing else is valid.
class RandomPolicy : public Policy {
 public:
  explicit RandomPolicy(double no_op_weight = 0) : no_op_weight_(no_op_weight) {}
  std::string name() const override { return "random"; }
  PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) override;
  /// Of these actions, [B] float64 on the CPU.
  torch::Tensor probability(const LatentMask& mask, const torch::Tensor& primary) const;

 private:
  /// Of primary actions, [B, primary] float64 on the CPU.
  torch::Tensor weights(const LatentMask& mask) const;

  double no_op_weight_;
};

}  // namespace reverie
