#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "controller/agents/learner.h"
#include "controller/agents/sequence_placer.h"

namespace reverie {

/// HDP: Mirhoseini et al., "A Hierarchical Model for Device Placement" (ICLR 2018). A grouper gives
/// each operator, which is a colocation group or free node here, a group; a placer reads the groups
/// and gives each a device. Settings are those of the paper where the reproducibility sheet of
/// ri.k117.org has them, or else of the authors' code (TensorFlow's hierarchical controller).
///
/// | setting                                                                  | source          |
/// | ------------------------------------------------------------------------ | --------------- |
/// | grouper: two matrices, features -> 64 -> groups, nothing between them    | code            |
/// | groups: 20 a device, at most 256                                         | code            |
/// | the placer sees groups that have operators alone                         | chosen          |
/// | placer: bidirectional LSTM, decoder, attention, device embeddings; Glorot | code            |
/// | width of decoder, attention and embeddings: 32                           | chosen; code 512 |
/// | logits of both: 5 tanh(x / 10)                                           | paper           |
/// | 1 grouping and 4 placements of its groups an update                      | paper           |
/// | reward -sqrt(cost / cost of the best device alone), or -10               | code: of seconds |
/// | baseline: moving average, weight 0.9 of the past, from the first mean on | code; from -10 on |
/// | loss: -(reward - baseline) x log probability of grouping and placement   | code            |
/// | Adam, gradient norm clipped to 1                                         | paper           |
/// | rate 0.01                                                                | chosen; paper 0.1 |
///
/// What was chosen is for graphs of tens of operators and some thousand evaluations. There the
/// published rate puts all on one device within 50 updates, and a width of 512 reaches as much as
/// 32 in ten times the time. Where most groups are empty, their devices, which change nothing, are
/// most of what is drawn. Left out of their code: noise on logits, and replay of actions from step
/// 500.
class Hdp : public PlacementLearner {
 public:
  Hdp(int devices, uint64_t seed);

  void learn(std::span<Evaluator* const> evaluators) override;
  void place(Evaluator& evaluator) override;
  torch::nn::Module& module() override { return *policy_; }

  static constexpr int kSamples = 4;
  static constexpr int64_t kGrouperWidth = 64, kHidden = 32;
  static constexpr double kTemperature = 10, kLimit = 5, kRate = 0.01, kClip = 1;
  static constexpr int64_t groups_for(int devices) { return std::min(256, 20 * devices); }

 private:
  struct Policy : torch::nn::Module {
    Policy(int devices, const Rng& rng);
    /// [operators, groups], of hdp_operators.
    torch::Tensor group_log_probabilities(const torch::Tensor& operators) const;

    torch::Tensor first, second;  ///< of the grouper: [64, columns], [groups, 64]
    std::shared_ptr<SequencePlacer> placer;
  };

  int devices_;
  Rng rng_;
  std::shared_ptr<Policy> policy_;
  torch::optim::Adam adam_;
};

}  // namespace reverie
