#pragma once

#include <cstdint>
#include <vector>

#include "core/base/config.h"
#include "worldmodel/batch/episode_source.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct OutcomeConfig {
  int members = 5;
  int hidden = 32;
  int steps = 80;
  double learning_rate = 0.01;
  double weight_decay = 2;

  template <class V>
  void fields(V& v) {
    v.field("members", members, "Networks of the ensemble; 0: M has none, and dreams are its own",
            at_least(0));
    v.field("hidden", hidden, "Width of each of their two hidden layers", at_least(1));
    v.field("steps", steps, "Gradient steps, each on all training episodes", at_least(1));
    v.field("learning_rate", learning_rate, "Step size of AdamW, falling to 0 (cosine)", above(0));
    v.field("weight_decay", weight_decay, "Weight decay of AdamW", at_least(0));
  }
};

/// What B steps are believed to come to.
struct OutcomePrediction {
  torch::Tensor reward;   ///< [members, B], in the environment's units
  torch::Tensor learned;  ///< [B, L], EnvSpec::learned of the state reached, mean of the members
};

/// The part of M that speaks of what only a real step tells, where the environment knows the rest
/// (env/known_dynamics.h): an ensemble of small networks (Lakshminarayanan, Pritzel and Blundell
/// 2017), each trained on episodes drawn with replacement. They look at the graph targets of the
/// state that a step leads to, as known dynamics compute it: its learned columns are those before
/// the step.
///
/// Rewards are learned within start states: of each start the networks must tell which episode
/// gains more than another, not how much all of them gain, which few starts would not teach. Where
/// rewards come at an episode's end alone (EnvSpec::reward_at_end), last steps alone count.
struct OutcomeEnsembleImpl : torch::nn::Module {
  OutcomeEnsembleImpl(const OutcomeConfig& config, const EnvSpec& spec);

  /// targets: [B, graph targets].
  OutcomePrediction predict(const torch::Tensor& targets);
  /// [members, B, 1 + L] of normalised inputs [B, graph targets]: the reward in units of the
  /// rewards' deviation within starts, and the normalised changes of the learned columns.
  torch::Tensor forward(const torch::Tensor& x);

  int64_t members() const { return first.size(0); }

  OutcomeConfig config;
  std::vector<int64_t> places;  ///< of the learned columns among the graph targets
  Normalizer input{nullptr}, change{nullptr}, reward{nullptr};
  torch::Tensor first, first_bias;    ///< [members, graph targets, hidden], [members, 1, hidden]
  torch::Tensor second, second_bias;  ///< [members, hidden, hidden], [members, 1, hidden]
  torch::Tensor third, third_bias;    ///< [members, hidden, 1 + L], [members, 1, 1 + L]
};
TORCH_MODULE(OutcomeEnsemble);

/// Trains one on the training episodes of `data`, on the CPU. Equal seeds give equal bytes.
OutcomeEnsemble train_outcome(const EpisodeSource& data, const OutcomeConfig& config,
                              uint64_t seed);

}  // namespace reverie
