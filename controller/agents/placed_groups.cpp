#include "controller/agents/placed_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/simulator/grouping.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {

PlacedGroups::PlacedGroups(const CostGraph& graph, int most) {
  number(grouped(graph, most));
  connect(graph);
  describe(graph);
}

void PlacedGroups::number(const CostGraph& graph) {
  const PlacementEntities entities(graph);
  std::vector<int> place(static_cast<size_t>(entities.size()), -1);
  int next = 0;
  for (const int node : graph.order())
    if (int& of = place[static_cast<size_t>(entities.of(node))]; of < 0) of = next++;
  for (int node = 0; node < graph.size(); ++node)
    of_node_.push_back(place[static_cast<size_t>(entities.of(node))]);
  readers_.resize(place.size());
}

void PlacedGroups::connect(const CostGraph& graph) {
  for (const CostTensor& tensor : graph.tensors()) {
    const int from = of_node_[static_cast<size_t>(tensor.producer)];
    for (const int reader : tensor.readers)
      if (const int to = of_node_[static_cast<size_t>(reader)]; to != from)
        readers_[static_cast<size_t>(from)].push_back(to);
  }
  for (std::vector<int>& readers : readers_) {
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  }
}

void PlacedGroups::describe(const CostGraph& graph) {
  types_ = torch::zeros({size(), kTypes});
  for (int node = 0; node < graph.size(); ++node) {
    const auto type =
        static_cast<int64_t>(hash_string(graph.nodes()[static_cast<size_t>(node)].op) % kTypes);
    types_.data_ptr<float>()[of_node_[static_cast<size_t>(node)] * kTypes + type] += 1;
  }
  std::vector<std::vector<int64_t>> bytes(readers_.size());
  for (const CostTensor& tensor : graph.tensors()) {
    const int from = of_node_[static_cast<size_t>(tensor.producer)];
    if (std::ranges::any_of(tensor.readers, [&](int reader) {
          return of_node_[static_cast<size_t>(reader)] != from;
        }))
      bytes[static_cast<size_t>(from)].push_back(tensor.bytes);
  }
  outputs_ = torch::zeros({size(), kOutputs});
  float* row = outputs_.data_ptr<float>();
  for (std::vector<int64_t>& of : bytes) {
    std::ranges::sort(of, std::greater());
    for (size_t i = 0; i < std::min(of.size(), size_t{kOutputs}); ++i)
      row[i] = static_cast<float>(std::log2(1 + static_cast<double>(of[i])) / 32);
    row += kOutputs;
  }
}

std::vector<int> PlacedGroups::spread(const std::vector<int>& devices) const {
  std::vector<int> of_nodes;
  for (const int group : of_node_) of_nodes.push_back(devices[static_cast<size_t>(group)]);
  return of_nodes;
}

JudgedGraph::JudgedGraph(Evaluator& evaluator, int most_groups)
    : evaluator_(&evaluator),
      groups_(evaluator.graph(), most_groups),
      priorities_(path_priorities(evaluator.simulator())) {
  for (int device = 0; device < evaluator.topology().size(); ++device) {
    const double cost =
        plain_cost(evaluator.simulator().run(on_one_device(evaluator.simulator(), device)));
    if (device > 0 && cost >= best_cost_) continue;
    best_device_ = device;
    best_cost_ = cost;
  }
}

Placement JudgedGraph::placement(const std::vector<int>& devices_of_groups) const {
  return {groups_.spread(devices_of_groups), priorities_};
}

const Outcome& JudgedGraph::evaluate(const std::vector<int>& devices_of_groups) const {
  return evaluator_->evaluate(placement(devices_of_groups));
}

double JudgedGraph::plain_cost(const Outcome& outcome) const {
  return static_cast<double>(evaluator_->objective() == PlacementObjective::kMakespan
                                 ? outcome.makespan.count
                                 : outcome.peak_bytes);
}

double JudgedGraph::ratio(const Outcome& outcome) const {
  return best_cost_ > 0 ? plain_cost(outcome) / best_cost_ : 1;
}

void require_devices(const Evaluator& evaluator, int devices) {
  if (evaluator.topology().size() != devices)
    throw InputError("the learner was made for {} devices, and '{}' has {}; take a learner for {}",
                     devices, evaluator.topology().name, evaluator.topology().size(),
                     evaluator.topology().size());
}

void in_rounds(std::span<Evaluator* const> evaluators, int devices,
               const std::function<void(size_t)>& update) {
  for (const Evaluator* evaluator : evaluators) require_devices(*evaluator, devices);
  const OneThread guard;
  for (bool is_over = false; !is_over;) {
    is_over = true;
    for (size_t i = 0; i < evaluators.size(); ++i) {
      if (evaluators[i]->spent()) continue;
      is_over = false;
      update(i);
    }
  }
}

}  // namespace reverie
