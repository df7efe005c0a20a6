#include "env/placement/simulator/fusion.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "core/base/error.h"
#include "env/placement/graph/kernel_cost.h"

namespace reverie {
namespace {

/// A graph of clusters, with their members in order. Clusters are numbered by their first nodes.
struct Quotient {
  Quotient(const CostGraph& graph, const std::vector<int>& cluster_of_node) {
    if (cluster_of_node.size() != static_cast<size_t>(graph.size()))
      throw InputError("{} clusters do not fit a graph of {} nodes", cluster_of_node.size(),
                       graph.size());
    std::map<int, int> numbers;
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
      std::ranges::sort(one.readers);
      one.readers.erase(std::ranges::unique(one.readers).begin(), one.readers.end());
      std::erase(one.readers, one.producer);
      if (!one.readers.empty() || tensor.readers.empty()) tensors.push_back(std::move(one));
    }
  }

  /// Clusters, each after those that it waits for; of those that are ready, the one of the highest
  /// priority. Fewer than there are where some wait for each other.
  std::vector<int> order(const std::vector<int64_t>& priority) const {
    std::vector<std::vector<int>> after(members.size());
    std::vector<int> waits(members.size());
    for (const CostTensor& tensor : tensors)
      for (const int reader : tensor.readers) {
        after[static_cast<size_t>(tensor.producer)].push_back(reader);
        ++waits[static_cast<size_t>(reader)];
      }
    std::priority_queue<std::pair<int64_t, int>> ready;  // the lowest number of equal ones
    const auto add = [&](int one) { ready.push({priority[static_cast<size_t>(one)], -one}); };
    for (int one = 0; one < std::ssize(members); ++one)
      if (waits[static_cast<size_t>(one)] == 0) add(one);
    std::vector<int> order;
    while (!ready.empty()) {
      order.push_back(-ready.top().second);
      ready.pop();
      for (const int next : after[static_cast<size_t>(order.back())])
        if (--waits[static_cast<size_t>(next)] == 0) add(next);
    }
    return order;
  }

  bool is_legal(const CostGraph& graph) const {
    for (const auto& nodes : members)
      for (const int node : nodes)
        if (nodes.size() > 1 && !starts_kernel(graph, node)) return false;
    return order(std::vector<int64_t>(members.size())).size() == members.size();
  }

  std::vector<int> of;                    ///< by node
  std::vector<std::vector<int>> members;  ///< by cluster
  std::vector<CostTensor> tensors;        ///< between clusters
};

/// The group of each node, once those of nodes that are fused are one.
std::vector<int> joined_groups(const CostGraph& graph, const Quotient& quotient) {
  std::map<int, int> next;  // towards the lowest number of those that are joined
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
  fused.persistent_bytes = fused.temporary_bytes = 0;
  fused.group = -1;
  Picoseconds most{-1};
  for (const int node : nodes) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    fused.persistent_bytes += one.persistent_bytes;
    fused.temporary_bytes += one.temporary_bytes;
    fused.group = std::max(fused.group, groups[static_cast<size_t>(node)]);  // all others are -1
    const Picoseconds time = arithmetic_time(graph, {node}, 0);
    if (time > most) most = time, fused.op = one.op;
  }
  if (nodes.size() > 1) fused.name += fmt::format("+{}", nodes.size() - 1);
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
      costs.push_back(kernel_time(graph, members, kind));
      parts.arithmetic.push_back(arithmetic_time(graph, members, kind));
    }
  }
  return {CostGraph(graph.name(), graph.kinds(), std::move(nodes), std::move(costs),
                    std::move(quotient.tensors), std::move(parts)),
          std::move(quotient.of)};
}

Placement fused_placement(const FusedGraph& fused, const Placement& placement) {
  const auto size = static_cast<size_t>(fused.graph.size());
  Placement result{.device = std::vector<int>(size, -1), .priority = std::vector<int64_t>(size)};
  std::vector<int> one_each;
  for (int node = 0; node < fused.graph.size(); ++node) one_each.push_back(node);
  std::vector<int64_t> highest(size, std::numeric_limits<int64_t>::min());
  for (size_t node = 0; node < fused.node_of.size(); ++node) {
    const auto at = static_cast<size_t>(fused.node_of[node]);
    const int device = placement.device.at(node);
    if (result.device[at] >= 0 && result.device[at] != device)
      throw InputError("fused node '{}' is on devices {} and {}", fused.graph.nodes()[at].name,
                       result.device[at], device);
    result.device[at] = device;
    if (!placement.priority.empty())
      highest[at] = std::max(highest[at], placement.priority.at(node));
  }
  int64_t left = fused.graph.size();
  for (const int node : Quotient(fused.graph, one_each).order(highest))
    result.priority[static_cast<size_t>(node)] = --left;
  return result;
}

}  // namespace reverie
