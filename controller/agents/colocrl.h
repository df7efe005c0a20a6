#pragma once

#include <cstdint>
#include <memory>

#include "controller/agents/learner.h"
#include "controller/agents/placed_groups.h"
#include "controller/agents/sequence_placer.h"

namespace reverie {

/// ColocRL: Mirhoseini et al., "Device Placement Optimization with Reinforcement Learning" (ICML
/// 2017). A sequence-to-sequence policy (sequence_placer.h) gives each colocation group a device.
///
/// | of the paper                  | here                                                         |
/// | ----------------------------- | ------------------------------------------------------------ |
/// | groups (section 3.1)          | at most 256 (chosen), joined as grouping.h says              |
/// | type of a group: embedded     | the mean of its nodes' type embeddings of 16 (chosen)        |
/// | sizes of outputs              | log bytes of the 5 largest (chosen)                          |
/// | adjacency, one-hot            | a column for each of 256 groups: 1 where one reads the other |
/// | LSTM encoder and decoder      | of 64 (chosen: the paper's sizes are not known to us)        |
/// | reward -sqrt(run time)        | -sqrt(cost / cost of the best device alone)                  |
/// | infeasible: a large constant  | reward -10 (chosen)                                          |
/// | baseline: moving average      | of each graph's mean reward, weight 0.9 of the past (chosen) |
/// | K samples an update           | 10 (chosen)                                                  |
/// | Adam, gradient norm clipped 1 | rate 0.003 (chosen)                                          |
class ColocRl : public PlacementLearner {
 public:
  ColocRl(int devices, uint64_t seed);

  void learn(std::span<Evaluator* const> evaluators) override;
  void place(Evaluator& evaluator) override;
  torch::nn::Module& module() override { return *policy_; }

  static constexpr int kMostGroups = 256, kSamples = 10, kHidden = 64;
  static constexpr double kRate = 0.003, kClip = 1;

  /// The policy with its type embedding.
  struct Policy : torch::nn::Module {
    Policy(int devices, const Rng& rng);
    /// [groups, columns]: type embedding, sizes of outputs, adjacency.
    torch::Tensor features(const PlacedGroups& groups) const;

    torch::Tensor type_embedding;  ///< [types, 16]
    std::shared_ptr<SequencePlacer> placer;
  };
  const Policy& policy() const { return *policy_; }

 private:
  int devices_;
  Rng rng_;
  std::shared_ptr<Policy> policy_;
  torch::optim::Adam adam_;
};

}  // namespace reverie
