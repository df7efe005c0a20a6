#pragma once

#include "controller/modelfree/model_free_network.h"
#include "worldmodel/network/modules.h"

namespace reverie {

/// No graph network: every valid action is a candidate, and an MLP scores it by its primary action,
/// what it gains at once, where it stands among the choices of its primary action, and the state's
/// targets, action features and counts. The distribution is a softmax over all candidates of a
/// state of 10 tanh(score / 10). The critic is an MLP over what the actor sees of the state.
class CandidateNet : public ModelFreeNetwork {
 public:
  CandidateNet(const EnvSpec& spec, const ModelFreeConfig& config);

  bool looks_ahead() const override { return true; }
  void set_statistics(ModelFreeBatch inputs) override;
  Evaluation evaluate(ModelFreeBatch inputs, const torch::Tensor& to_go,
                      const LatentActions& actions) override;
  Choice choose(ModelFreeBatch inputs, const torch::Tensor& to_go, bool greedy, Rng& rng) override;

 private:
  struct Candidates;
  Candidates candidates(ModelFreeBatch inputs) const;
  /// [B, columns], as they came.
  torch::Tensor state_columns(ModelFreeBatch inputs) const;
  torch::Tensor state_features(ModelFreeBatch inputs, const torch::Tensor& to_go);
  torch::Tensor log_probabilities(const Candidates& all, const torch::Tensor& state);

  EnvSpec spec_;
  Normalizer columns_{nullptr}, gains_{nullptr};
  torch::nn::Linear state_{nullptr}, candidate_{nullptr}, hidden_{nullptr}, score_{nullptr};
  torch::nn::Embedding actions_{nullptr}, preference_{nullptr};
  torch::nn::Sequential critic_{nullptr};
};

}  // namespace reverie
