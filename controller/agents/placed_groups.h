#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "env/placement/simulator/evaluator.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// The groups of a graph as agents see them that decide for one after the other: colocation groups
/// and free nodes, in the topological order of their first nodes.
class PlacedGroups {
 public:
  static constexpr int kTypes = 64;   ///< of operators, by the hash of their names
  static constexpr int kOutputs = 5;  ///< of a group that are told of

  /// At most `most` groups, at least 1: of more, some are joined (grouping.h).
  PlacedGroups(const CostGraph& graph, int most);

  int size() const { return static_cast<int>(readers_.size()); }
  /// By node, its group.
  const std::vector<int>& of_node() const { return of_node_; }
  /// By group, those that read of it: ascending, itself left out.
  const std::vector<std::vector<int>>& readers() const { return readers_; }
  /// [groups, kTypes]: how many nodes are of each type.
  const torch::Tensor& types() const { return types_; }
  /// [groups, kOutputs]: log2(1 + bytes) / 32 of the largest tensors that another group reads, the
  /// largest first, or 0.
  const torch::Tensor& outputs() const { return outputs_; }
  /// Each node's device, from each group's.
  std::vector<int> spread(const std::vector<int>& devices) const;

 private:
  void number(const CostGraph& graph);
  void connect(const CostGraph& graph);
  void describe(const CostGraph& graph);

  std::vector<int> of_node_;
  std::vector<std::vector<int>> readers_;
  torch::Tensor types_, outputs_;
};

/// A graph that an agent places by its groups and is judged for.
class JudgedGraph {
 public:
  /// The evaluator must outlive it.
  JudgedGraph(Evaluator& evaluator, int most_groups);

  Evaluator& evaluator() const { return *evaluator_; }
  const PlacedGroups& groups() const { return groups_; }
  /// Nodes run by the longest path from them on, when they are ready.
  Placement placement(const std::vector<int>& devices_of_groups) const;
  const Outcome& evaluate(const std::vector<int>& devices_of_groups) const;
  /// Cost / cost of the best device alone, whether or not it has the memory; of the outcome only
  /// makespan or peak memory counts here.
  double ratio(const Outcome& outcome) const;
  /// The device on which all together cost least.
  int best_device() const { return best_device_; }

 private:
  double plain_cost(const Outcome& outcome) const;

  Evaluator* evaluator_;
  PlacedGroups groups_;
  std::vector<int64_t> priorities_;
  int best_device_ = 0;
  double best_cost_ = 0;
};

/// Calls `update` with the number of each evaluator in turn, round by round, while it is not spent.
/// One thread of LibTorch. InputError where an evaluator has another number of devices.
void in_rounds(std::span<Evaluator* const> evaluators, int devices,
               const std::function<void(size_t)>& update);
/// InputError for another number of devices.
void require_devices(const Evaluator& evaluator, int devices);

/// LibTorch uses one thread while this lives: the order of sums depends on how many there are.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Calls `update` with the graphs of all evaluators, so many at a time, round by round until all
/// are spent. A Graph is made of an Evaluator& and has it as `evaluator`. Otherwise as in_rounds.
template <class Graph, class Update>
void in_batches(std::span<Evaluator* const> evaluators, int devices, size_t batch,
                const Update& update) {
  const OneThread guard;
  std::vector<Graph> graphs;
  for (Evaluator* const evaluator : evaluators) {
    require_devices(*evaluator, devices);
    graphs.emplace_back(*evaluator);
  }
  const auto spent = [](const Graph& graph) { return graph.evaluator->spent(); };
  while (!std::ranges::all_of(graphs, spent))
    for (size_t first = 0; first < graphs.size(); first += batch)
      update(std::span(graphs).subspan(first, std::min(batch, graphs.size() - first)));
}

}  // namespace reverie
