#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "env/placement/learn/learner.h"
#include "env/placement/learn/sequence_placer.h"

namespace reverie {

/// HDP: Mirhoseini et al., "A Hierarchical Model for Device Placement" (ICLR 2018). A grouper gives
/// each operator, which is a colocation group or free node here, a group; a placer reads the groups
/// and gives each a device. Settings are those of the paper where the reproducibility sheet of
/// ri.k117.org has them, or else of the authors' code (hierarchical controller of TensorFlow).
///
/// | setting                                                      | source                        |
/// | ------------------------------------------------------------ | ----------------------------- |
/// | grouper: two matrices, features -> 64 -> groups, and nothing | code; features: hdp_features.h
/// | | between them                                                 | | | groups: 20 a device, at
/// most 256                             | code                          | | placer: bidirectional
/// LSTM of 256 each way, decoder,         | code                          | | attention and device
/// embeddings of 512; Glorot start         |                               | | logits of both: 5
/// tanh(x / 10)                               | paper                         | | 1 grouping and 4
/// placements of its groups an update          | paper                         | | reward
/// -sqrt(cost / cost of the best device alone), -10 where| code: the root of seconds     | | memory
/// is exceeded                                           |                               | |
/// baseline: moving average, weight 0.9 of the past             | code; it begins with the first|
/// |                                                              | mean, theirs with -10         |
/// | loss: -(reward - baseline) times the log probabilities of    | code                          |
/// | grouping and placement                                       |                               |
/// | Adam with rate 0.1, gradient norm clipped to 1               | paper                         |
///
/// Left out of their code: noise on logits, and replay of cached actions after step 500.
class Hdp : public PlacementLearner {
 public:
  /// `hidden`: of the placer, even. The published width of 512 takes some tenths of a second an
  /// update on one core.
  Hdp(int devices, uint64_t seed, int64_t hidden = kHidden);

  void learn(std::span<Evaluator* const> evaluators) override;
  void place(Evaluator& evaluator) override;
  torch::nn::Module& module() override { return *policy_; }

  static constexpr int kSamples = 4;
  static constexpr int64_t kGrouperWidth = 64, kHidden = 512;
  static constexpr double kTemperature = 10, kLimit = 5, kRate = 0.1, kClip = 1;
  static constexpr int64_t groups_for(int devices) { return std::min(256, 20 * devices); }

 private:
  struct Policy : torch::nn::Module {
    Policy(int devices, int64_t hidden, const Rng& rng);
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
