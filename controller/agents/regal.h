#pragma once

#include <memory>
#include <vector>

#include "controller/agents/learner.h"
#include "controller/agents/regal_network.h"
#include "core/base/random.h"
#include "env/placement/search/brkga.h"

namespace reverie {

struct RegalOptions {
  bool placement = true;   ///< decides distributions of affinities; otherwise they are uniform
  bool scheduling = true;  ///< and of priorities
  bool edges = true;       ///< the network sees them; false: GAS
  int evaluations = 200;   ///< of a run of BRKGA that gives a reward
  int batch = 8;           ///< graphs an update
  int samples = 8;         ///< decisions for each of them an update
  double rate = 1e-3;      ///< of Adam
  double entropy = 0.003;  ///< weight of the mean entropy, which falls to 0 with the budget
  BrkgaOptions brkga = {};
};

/// REGAL (Paliwal et al., "Reinforced Genetic Algorithm Learning for Optimizing Computation
/// Graphs", ICLR 2020): a network reads a graph (regal_network.h) and says for each gene from which
/// Beta distribution BRKGA draws its first population and its mutants. All that is decided for a
/// graph is one decision; nothing follows it.
///
/// It learns by REINFORCE. The reward of a decision is -c / c0, c the cost that BRKGA reaches with
/// it and c0 the one it reaches with uniform distributions, after as many evaluations. What is
/// learned from is the reward less the mean of the samples of the same graph, over their standard
/// deviation. While learning, all that a run of BRKGA evaluates is charged to the evaluator, which
/// is told of the best of it.
///
/// The sources tell the distributions, the quantised means and variances, and the reward. The
/// numbers in RegalOptions are chosen.
class Regal : public PlacementLearner {
 public:
  Regal(int devices, uint64_t seed, const RegalOptions& options = {}, const RegalSizes& sizes = {});

  void learn(std::span<Evaluator* const> evaluators) override;
  /// BRKGA with the likeliest distributions, until the evaluator, which must have a limit, is
  /// spent.
  void place(Evaluator& evaluator) override;
  torch::nn::Module& module() override { return *network_; }

  /// The likeliest distributions.
  GeneBias likeliest(const Simulator& simulator);

 private:
  struct Graph;
  struct Samples;

  double search(Evaluator& evaluator, const GeneBias& bias);
  Samples draw(Graph& graph);
  torch::Tensor loss(const Graph& graph, const Samples& samples, double entropy);
  void update(std::span<Graph> graphs);
  GeneBias bias_of(const torch::Tensor& means, const torch::Tensor& variances,
                   int affinities) const;

  int devices_;
  RegalOptions options_;
  Rng rng_;
  RegalNetwork network_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

}  // namespace reverie
