#include "env/placement/simulator/fusion.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/sort_unique.h"
#include "env/placement/graph/kernel_cost.h"
#include "env/placement/simulator/bounds.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

/// A graph of clusters, with their members in order. Clusters are numbered by their first nodes.
struct Quotient {
  Quotient(const CostGraph& graph, const std::vector<int>& cluster_of_node) {
    if (cluster_of_node.size() != static_cast<size_t>(graph.size()))
      throw InputError("{} clusters do not fit a graph of {} nodes", cluster_of_node.size(),
                       graph.size());
    std::unordered_map<int, int> numbers;
    for (int node = 0; node < graph.size(); ++node) {
      const auto [number, is_new] =
          numbers.try_emplace(cluster_of_node[static_cast<size_t>(node)], std::ssize(members));
      if (is_new) members.emplace_back();
      of.push_back(number->second);
      members[static_cast<size_t>(number->second)].push_back(node);
    }
    for (const CostTensor& tensor : graph.tensors()) {
      CostTensor one = tensor;
      one.producer = of[static_cast<size_t>(tensor.producer)];
      for (int& reader : one.readers) reader = of[static_cast<size_t>(reader)];
      sort_unique(one.readers);
      std::erase(one.readers, one.producer);
      if (!one.readers.empty() || tensor.readers.empty()) tensors.push_back(std::move(one));
    }
  }

  /// Whether no cluster waits for itself.
  bool can_run() const {
    std::vector<std::vector<int>> after(members.size());
    std::vector<int> waits(members.size()), ready;
    for (const CostTensor& tensor : tensors)
      for (const int reader : tensor.readers) {
        after[static_cast<size_t>(tensor.producer)].push_back(reader);
        ++waits[static_cast<size_t>(reader)];
      }
    for (int one = 0; one < std::ssize(members); ++one)
      if (waits[static_cast<size_t>(one)] == 0) ready.push_back(one);
    for (size_t i = 0; i < ready.size(); ++i)
      for (const int next : after[static_cast<size_t>(ready[i])])
        if (--waits[static_cast<size_t>(next)] == 0) ready.push_back(next);
    return ready.size() == members.size();
  }

  bool is_legal(const CostGraph& graph) const {
    for (const auto& nodes : members)
      for (const int node : nodes)
        if (nodes.size() > 1 && !starts_kernel(graph, node)) return false;
    return can_run();
  }

  std::vector<int> of;                    ///< by node
  std::vector<std::vector<int>> members;  ///< by cluster
  std::vector<CostTensor> tensors;        ///< between clusters
};

/// The group of each node, once those of nodes that are fused are one.
std::vector<int> joined_groups(const CostGraph& graph, const Quotient& quotient) {
  std::unordered_map<int, int> next;  // towards the lowest number of those that are joined
  const auto lowest = [&](int group) {
    while (next.try_emplace(group, group).first->second != group) group = next[group];
    return group;
  };
  for (const auto& nodes : quotient.members) {
    int first = -1;
    for (const int node : nodes) {
      const int group = graph.nodes()[static_cast<size_t>(node)].group;
      if (group < 0) continue;
      const auto [low, high] = std::minmax({lowest(first < 0 ? group : first), lowest(group)});
      next[high] = first = low;
    }
  }
  std::vector<int> groups;
  for (const CostNode& node : graph.nodes())
    groups.push_back(node.group < 0 ? -1 : lowest(node.group));
  return groups;
}

CostNode fused_node(const CostGraph& graph, const std::vector<int>& nodes,
                    const std::vector<int>& groups) {
  CostNode fused = graph.nodes()[static_cast<size_t>(nodes[0])];
  if (nodes.size() == 1) {
    fused.group = groups[static_cast<size_t>(nodes[0])];
    return fused;
  }
  fused.persistent_bytes = fused.temporary_bytes = 0;
  fused.group = -1;
  Picoseconds most{-1};
  for (const int node : nodes) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    fused.persistent_bytes += one.persistent_bytes;
    fused.temporary_bytes += one.temporary_bytes;
    fused.group = std::max(fused.group, groups[static_cast<size_t>(node)]);  // all others are -1
    const Picoseconds time = arithmetic_time(graph, node, 0);
    if (time > most) most = time, fused.op = one.op;
  }
  fused.name += fmt::format("+{}", nodes.size() - 1);
  return fused;
}

}  // namespace

bool can_fuse(const CostGraph& graph, const std::vector<int>& cluster_of_node) {
  return Quotient(graph, cluster_of_node).is_legal(graph);
}

FusedGraph fuse(const CostGraph& graph, const std::vector<int>& cluster_of_node) {
  require_parts(graph);
  Quotient quotient(graph, cluster_of_node);
  if (!quotient.is_legal(graph))
    throw InputError("nodes of '{}' that wait for each other, or start no kernel, cannot be fused",
                     graph.name());
  const std::vector<int> groups = joined_groups(graph, quotient);
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> costs;
  CostParts parts{.kinds = graph.parts()->kinds, .arithmetic = {}, .moved_bytes = {}};
  for (const std::vector<int>& members : quotient.members) {
    nodes.push_back(fused_node(graph, members, groups));
    parts.moved_bytes.push_back(moved_bytes(graph, members));
    for (int kind = 0; kind < std::ssize(graph.kinds()); ++kind) {
      const bool runs =
          std::ranges::all_of(members, [&](int node) { return graph.can_run(node, kind); });
      costs.push_back(runs ? kernel_time(graph, members, kind) : CostGraph::kCannotRun);
      parts.arithmetic.push_back(arithmetic_time(graph, members, kind));
    }
  }
  return {CostGraph(graph.name(), graph.kinds(), std::move(nodes), std::move(costs),
                    std::move(quotient.tensors), std::move(parts)),
          std::move(quotient.of)};
}

Placement fused_placement(const FusedGraph& fused, const Placement& placement, Dispatch dispatch) {
  const auto size = static_cast<size_t>(fused.graph.size());
  Placement result{.device = std::vector<int>(size, -1),
                   .priority = std::vector(size, std::numeric_limits<int64_t>::min())};
  for (size_t node = 0; node < fused.node_of.size(); ++node) {
    const auto at = static_cast<size_t>(fused.node_of[node]);
    const int device = placement.device.at(node);
    if (result.device[at] >= 0 && result.device[at] != device)
      throw InputError("fused node '{}' is on devices {} and {}", fused.graph.nodes()[at].name,
                       result.device[at], device);
    result.device[at] = device;
    if (!placement.priority.empty())
      result.priority[at] = std::max(result.priority[at], placement.priority.at(node));
  }
  if (dispatch == Dispatch::kReady) return result;
  int64_t left = fused.graph.size();
  for (const int node : order_by(fused.graph, result.priority))
    result.priority[static_cast<size_t>(node)] = --left;
  return result;
}

Picoseconds fused_lower_bound(const CostGraph& graph, const Topology& topology) {
  require_parts(graph);
  // A kernel takes at least the sum of these of its nodes, so that they could run one by one.
  std::vector<Picoseconds> arithmetic, weights;
  for (int node = 0; node < graph.size(); ++node)
    for (int kind = 0; kind < std::ssize(graph.kinds()); ++kind) {
      const Picoseconds alone = graph.cost(node, kind);
      arithmetic.push_back(std::min(alone, arithmetic_time(graph, node, kind)));
      weights.push_back(std::min(alone, weight_time(graph, node, kind)));
    }
  const auto bound = [&](std::vector<Picoseconds> costs) {
    return lower_bound(
        CostGraph(graph.name(), graph.kinds(), graph.nodes(), std::move(costs), graph.tensors()),
        topology);
  };
  return std::max(bound(std::move(arithmetic)), bound(std::move(weights)));
}

}  // namespace reverie
