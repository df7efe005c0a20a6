#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "controller/agents/learner.h"
#include "controller/agents/placeto_graph.h"
#include "controller/agents/placeto_network.h"

namespace reverie {

/// Placeto: Addanki et al., "Placeto: Learning Generalizable Device Placement Algorithms for
/// Distributed Machine Learning" (NeurIPS 2019), as its authors' code has it. An episode visits the
/// groups in topological order and gives each a device anew; each step is evaluated, and rewarded
/// by how much the cost falls (placeto_graph.h).
///
/// | setting                                                | source                              |
/// | ------------------------------------------------------ | ----------------------------------- |
/// | groups: at most 256, joined as grouping.h says         | chosen                              |
/// | an episode begins with all groups on the best device   | their code has it as one of three:  |
/// | alone                                                  | random, one device, the best known  |
/// | features and network                                   | code, but for what the headers say  |
/// | returns without discount                               | code                                |
/// | baseline of a step: mean return of that step over the  | code (its note)                     |
/// | graph's last 10 episodes                               |                                     |
/// | bonus for entropy, falls linearly to 0 with the budget | code: weight 1; 0.01 here is chosen |
/// | 4 episodes an update                                   | code: 4 to 8 workers                |
/// | Adam, rate from 1e-3 linearly to 1e-4, gradient norm   | code                                |
/// | clipped to 1.25                                        |                                     |
class Placeto : public PlacementLearner {
 public:
  Placeto(int devices, uint64_t seed);

  /// Every step of an episode is an evaluation.
  void learn(std::span<Evaluator* const> evaluators) override;
  /// An episode by the likeliest devices. Its end alone is evaluated; before that it runs the
  /// simulator for each group, for the starts that it reads.
  void place(Evaluator& evaluator) override;
  torch::nn::Module& module() override { return *network_; }

  static constexpr int kMostGroups = 256, kEpisodes = 4, kRemembered = 10;
  static constexpr double kFirstRate = 1e-3, kLastRate = 1e-4, kClip = 1.25, kEntropy = 0.01;

 private:
  struct Learned;  ///< a graph, and what is kept of its episodes
  struct Steps;    ///< of the episodes of an update

  /// [states, devices], of features [groups, states, columns] with the group `step` the current
  /// one.
  torch::Tensor logits(const PlacetoGraph& graph, const torch::Tensor& features, int step) const;
  /// None where the evaluator was spent before the episodes were over.
  std::optional<Steps> play(Learned& learned);
  void update(Learned& learned, const Steps& steps);
  /// The part of some steps in the loss of all.
  torch::Tensor loss(const PlacetoGraph& graph, const Steps& steps, const torch::Tensor& advantages,
                     double entropy_weight, int64_t first, int64_t last) const;

  int devices_;
  Rng rng_;
  std::shared_ptr<PlacetoNetwork> network_;
  torch::optim::Adam adam_;
};

}  // namespace reverie
