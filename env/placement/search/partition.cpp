#include "env/placement/search/partition.h"

#include <metis.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "core/base/error.h"
#include "env/placement/search/plan.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

constexpr double kSum = 1e8;  ///< of all weights: METIS counts in 32 bits

/// Whole numbers that sum to about kSum, in these proportions.
std::vector<idx_t> scaled(const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<idx_t> whole;
  for (const double weight : weights)
    whole.push_back(sum > 0 ? static_cast<idx_t>(std::llround(weight / sum * kSum)) : 1);
  return whole;
}

double bytes_of(const CostGraph& graph, int node) {
  const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
  int64_t bytes = one.persistent_bytes + one.temporary_bytes;
  const auto [first, last] = graph.outputs(node);
  for (int tensor = first; tensor < last; ++tensor)
    bytes += graph.tensors()[static_cast<size_t>(tensor)].bytes;
  return static_cast<double>(bytes);
}

/// Entities and what they send each other, as METIS takes a graph.
struct EntityGraph {
  std::vector<idx_t> weights;           ///< by entity
  std::vector<idx_t> first, neighbors;  ///< entity i's: from first[i] to before first[i + 1]
  std::vector<idx_t> cuts;              ///< by neighbor
};

EntityGraph entity_graph(const Simulator& simulator, const PlacementEntities& entities,
                         PlacementObjective objective) {
  const CostGraph& graph = simulator.graph();
  std::vector<double> weights(static_cast<size_t>(entities.size()));
  for (int node = 0; node < graph.size(); ++node)
    weights[static_cast<size_t>(entities.of(node))] += objective == PlacementObjective::kMakespan
                                                           ? mean_cost(simulator, node)
                                                           : bytes_of(graph, node);
  std::vector<std::map<int, double>> sent(weights.size());
  for (int tensor = 0; tensor < std::ssize(graph.tensors()); ++tensor) {
    const CostTensor& one = graph.tensors()[static_cast<size_t>(tensor)];
    const int from = entities.of(one.producer);
    for (const int reader : one.readers) {
      const int to = entities.of(reader);
      if (from == to) continue;
      const double time = mean_transfer(simulator, tensor);
      sent[static_cast<size_t>(from)][to] += time;
      sent[static_cast<size_t>(to)][from] += time;
    }
  }
  EntityGraph result{scaled(weights), {0}, {}, {}};
  std::vector<double> cuts;
  for (const auto& neighbors : sent) {
    for (const auto& [neighbor, time] : neighbors) {
      result.neighbors.push_back(neighbor);
      cuts.push_back(time);
    }
    result.first.push_back(static_cast<idx_t>(cuts.size()));
  }
  result.cuts = scaled(cuts);
  for (idx_t& cut : result.cuts) cut = std::max<idx_t>(cut, 1);
  return result;
}

/// The share of the weight that each device gets.
std::vector<real_t> shares(const Simulator& simulator, PlacementObjective objective) {
  std::vector<double> speeds;
  for (int device = 0; device < simulator.topology().size(); ++device) {
    double time = 0;
    for (int node = 0; node < simulator.graph().size(); ++node)
      time += static_cast<double>(simulator.cost(node, device).count);
    speeds.push_back(objective == PlacementObjective::kMakespan && time > 0 ? 1 / time : 1);
  }
  const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<real_t> result;
  for (const double speed : speeds) result.push_back(static_cast<real_t>(speed / sum));
  return result;
}

std::vector<int> cut(EntityGraph graph, std::vector<real_t> shares) {
  auto vertices = static_cast<idx_t>(graph.weights.size());
  auto parts = static_cast<idx_t>(shares.size());
  idx_t constraints = 1, sent = 0;
  std::vector<idx_t> part(graph.weights.size());
  if (parts > 1 && vertices > 1) {
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    const int status = METIS_PartGraphRecursive(
        &vertices, &constraints, graph.first.data(), graph.neighbors.data(), graph.weights.data(),
        nullptr, graph.cuts.data(), &parts, shares.data(), nullptr, options, &sent, part.data());
    REVERIE_CHECK(status == METIS_OK);
  }
  return {part.begin(), part.end()};
}

bool is_read(const CostGraph& graph, int node) {
  const auto [first, last] = graph.outputs(node);
  for (int tensor = first; tensor < last; ++tensor)
    if (!graph.tensors()[static_cast<size_t>(tensor)].readers.empty()) return true;
  return false;
}

/// From each node that nobody reads back to what it needs: that comes right before it.
std::vector<int64_t> depth_first(const CostGraph& graph) {
  std::vector<int64_t> priority(static_cast<size_t>(graph.size()), 1);  // 1: not yet seen
  std::vector<std::pair<int, size_t>> path;  // nodes, and the number of inputs that are done
  int64_t next = 0;
  for (int root = 0; root < graph.size(); ++root) {
    if (is_read(graph, root)) continue;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      const auto [node, done] = path.back();
      const auto inputs = graph.inputs(node);
      if (done == inputs.size()) {
        priority[static_cast<size_t>(node)] = next--;
        path.pop_back();
        continue;
      }
      ++path.back().second;
      const int producer = graph.tensors()[static_cast<size_t>(inputs[done])].producer;
      if (priority[static_cast<size_t>(producer)] > 0) path.emplace_back(producer, 0);
    }
  }
  return priority;
}

}  // namespace

Placement partition(const Simulator& simulator, PlacementObjective objective) {
  const PlacementEntities entities(simulator.graph());
  const std::vector<int> parts =
      cut(entity_graph(simulator, entities, objective), shares(simulator, objective));
  return {entities.spread(parts), depth_first(simulator.graph())};
}

}  // namespace reverie
