#pragma once

#include <memory>
#include <vector>

#include "controller/agents/learner.h"
#include "controller/agents/regal_network.h"
#include "core/base/random.h"
#include "env/placement/search/brkga.h"

namespace reverie {

struct RegalOptions {
  int evaluations = 300;   ///< of a run of BRKGA that gives a reward
  int batch = 8;           ///< graphs an update
  int samples = 8;         ///< decisions for each of them an update
  double rate = 5e-3;      ///< of Adam, which falls to 0 with the budget
  double entropy = 0.003;  ///< weight of the mean entropy, which falls to 0 with the budget
  BrkgaOptions brkga = {};
};

/// REGAL (Paliwal et al., "Reinforced Genetic Algorithm Learning for Optimizing Computation
/// Graphs", ICLR 2020): a network reads a graph (regal_network.h) and says for each gene from which
/// Beta distribution BRKGA draws its first population and its mutants. All that is decided for a
/// graph is one decision; nothing follows it. Here it says how affinities differ from the usual
/// ones, pipeline_bias; from uniform ones it learned nothing. Priorities stay uniform: in those of
/// the paper there was nothing to learn (experiments/placement/README.md).
///
/// It learns by REINFORCE. The reward of a decision is -c, c the cost that BRKGA reaches with it.
/// What is learned from is the reward less the mean of the samples of the same graph, over their
/// standard deviation; all of them begin from the same seed. While learning, all that a run of
/// BRKGA evaluates is charged to the evaluator, which is told of the best of it.
///
/// The sources tell the distributions, the quantised means and variances, and the reward, there
/// over the cost with uniform distributions, which changes nothing here. The numbers in
/// RegalOptions are chosen.
class Regal : public PlacementLearner {
 public:
  Regal(int devices, uint64_t seed, const RegalOptions& options = {}, const RegalSizes& sizes = {});

  void learn(std::span<Evaluator* const> evaluators) override;
  /// BRKGA with the expected distributions, until the evaluator, which must have a limit, is
  /// spent.
  void place(Evaluator& evaluator) override;
  torch::nn::Module& module() override { return *network_; }

  /// Distributions by the means of the classes' numbers.
  GeneBias expected(Evaluator& evaluator);

 private:
  struct Graph;
  struct Samples;

  double search(Evaluator& evaluator, const GeneBias& bias, uint64_t seed);
  Samples draw(Graph& graph);
  torch::Tensor loss(const Graph& graph, const Samples& samples, double entropy);
  void update(std::span<Graph> graphs);
  GeneBias bias_of(const Graph& graph, const torch::Tensor& means,
                   const torch::Tensor& variances) const;

  int devices_;
  RegalOptions options_;
  Rng rng_;
  RegalNetwork network_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

}  // namespace reverie
