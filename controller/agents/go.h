#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "controller/agents/go_network.h"
#include "controller/agents/learner.h"
#include "core/base/random.h"

namespace reverie {

struct GoOptions {
  /// What it decides, placement first. Priorities that it does not decide are those of the longest
  /// path. It decides on fusion where the evaluator fuses.
  std::vector<GoTask> tasks = {GoTask::kPlacement, GoTask::kScheduling, GoTask::kFusion};
  /// Learns one task after the other, each in an equal share of the budget. What was best before is
  /// held, and nothing is fused before fusion's turn.
  bool separate = false;
  int batch = 8;          ///< graphs an update
  int samples = 16;       ///< placements of each of them an update
  int passes = 3;         ///< steps of Adam with the samples of an update
  double rate = 1e-3;     ///< of Adam
  double clip = 0.2;      ///< of the ratio of probabilities
  double entropy = 0.05;  ///< weight of the mean entropy, which falls to 0 with the budget
};

/// GO (Zhou et al., "Transferable Graph Optimizers for ML Compilers", 2020): a policy that decides
/// the devices of all entities, then the priorities of all nodes, and then what is fused first
/// (go_network.h). Priorities and fusion are decided at once. Entities are placed one after the
/// other, so that equal branches can be parted; the sources decide these at once, too.
///
/// The reward of a placement is -sqrt(c / c1), c its cost and c1 that of the best device alone, and
/// -10 where it does not fit into memory. What is learned from is the reward less the mean of the
/// samples of the same graph, over their standard deviation. Decisions of a node or an entity have
/// a clipped ratio each (PPO, Schulman et al. 2017, equation 7). Nodes of one level of priority run
/// by the longest path. Nodes are fused by greedy_fusion, the highest level of fusion first, and
/// those of the lowest level not at all with their readers.
///
/// The sources tell the tasks, the parts of the network, and that the gradient is like PPO's. The
/// form of the reward and the clip are those of a public attempt to rebuild it. Batch, samples,
/// passes, rate and the weight of the entropy are chosen.
class Go : public PlacementLearner {
 public:
  Go(int devices, uint64_t seed, const GoOptions& options = {}, const GoSizes& sizes = {});

  void learn(std::span<Evaluator* const> evaluators) override;
  /// The likeliest decision everywhere.
  void place(Evaluator& evaluator) override;
  torch::nn::Module& module() override { return *network_; }

 private:
  struct Graph;
  struct Samples;
  /// Of logits [..., actions], actions [...].
  using Choice = std::function<torch::Tensor(const torch::Tensor& logits)>;

  size_t tasks_for(const Graph& graph) const;
  Samples draw(Graph& graph);
  void decide(const Graph& graph, Samples& samples);
  /// So many decisions of the next task are added; their logits.
  torch::Tensor decide_next(const Graph& graph, const GoNetworkImpl::Encoded& encoded,
                            int64_t count, const Choice& choose, Samples& samples);
  torch::Tensor place_entities(const Graph& graph, const GoNetworkImpl::Encoded& encoded,
                               int64_t count, const Choice& choose, Samples& samples);
  /// Of a task that was decided.
  torch::Tensor logits(const Graph& graph, const GoNetworkImpl::Encoded& encoded,
                       const Samples& samples, size_t task);
  void update(std::span<Graph> graphs);
  torch::Tensor loss(const Graph& graph, const Samples& samples, double entropy);

  int devices_;
  GoOptions options_;
  Rng rng_;
  GoNetwork network_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

}  // namespace reverie
