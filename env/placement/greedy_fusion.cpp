#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/sort_unique.h"
#include "env/placement/fusion.h"
#include "env/placement/kernel_cost.h"

namespace reverie {
namespace {

/// Other clusters that read what nodes give out.
std::vector<int> successors(const CostGraph& graph, const std::vector<int>& nodes,
                            const std::vector<int>& cluster) {
  std::vector<int> found;
  for (const int node : nodes) {
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
        found.push_back(cluster[static_cast<size_t>(reader)]);
  }
  sort_unique(found);
  if (!nodes.empty()) std::erase(found, cluster[static_cast<size_t>(nodes[0])]);
  return found;
}

}  // namespace

Fusion::Fusion(const CostGraph& graph, const Topology& topology, std::vector<int> device)
    : graph_(graph), device_(std::move(device)), order_(graph.order()) {
  require_parts(graph);
  const auto size = static_cast<size_t>(graph.size());
  if (device_.size() != size)
    throw InputError("{} devices do not fit a graph of {} nodes", device_.size(), size);
  std::vector<int> kinds;
  for (const Device& one : topology.devices) kinds.push_back(graph.kind_named(one.kind));
  cluster_.resize(size);
  position_.resize(size);
  seen_.resize(size);
  std::iota(cluster_.begin(), cluster_.end(), 0);
  for (int node = 0; node < graph.size(); ++node) {
    position_[static_cast<size_t>(order_[static_cast<size_t>(node)])] = node;
    const int on = device_[static_cast<size_t>(node)];
    if (on < 0 || on >= topology.size())
      throw InputError("there is no device {}; there are {}", on, topology.size());
    kinds_.push_back(kinds[static_cast<size_t>(on)]);
    members_.push_back({node});
    costs_.push_back(graph.cost(node, kind(node)));
    bound_by_arithmetic_.push_back(is_bound_by_arithmetic(node));
    total_ += costs_.back();
  }
}

bool Fusion::is_bound_by_arithmetic(int node) const {
  const CostParts& parts = *graph_.parts();
  const double rate = parts.kinds[static_cast<size_t>(kind(node))].bytes_per_second;
  return arithmetic_time(graph_, {node}, kind(node)).seconds() * rate >
         static_cast<double>(parts.moved_bytes[static_cast<size_t>(node)]);
}

std::vector<int> Fusion::merged_members(int node, int other) const {
  std::vector<int> both;
  std::ranges::merge(members(node), members(other), std::back_inserter(both));
  return both;
}

bool Fusion::allows(int node, int other) {
  const size_t a = at(node), b = at(other);
  if (a == b || device_[static_cast<size_t>(node)] != device_[static_cast<size_t>(other)])
    return false;
  if (bound_by_arithmetic_[a] + bound_by_arithmetic_[b] > 1) return false;
  if (!starts_kernel(graph_, node) || !starts_kernel(graph_, other)) return false;
  const bool is_first = position_[a] < position_[b];
  return !has_way_around(is_first ? a : b, is_first ? b : a);
}

/// Finds all that comes after `before`, and stands before `after` in the order.
bool Fusion::has_way_around(size_t before, size_t after) {
  ++searches_;
  found_.clear();
  const auto look_behind = [&](size_t cluster) {
    for (const int next : successors(graph_, members_[cluster], cluster_)) {
      const auto at = static_cast<size_t>(next);
      if (at == after && cluster != before) return true;
      if (at == after || position_[at] > position_[after] || seen_[at] == searches_) continue;
      seen_[at] = searches_;
      found_.push_back(next);
    }
    return false;
  };
  if (look_behind(before)) return true;
  for (size_t i = 0; i < found_.size(); ++i)
    if (look_behind(static_cast<size_t>(found_[i]))) return true;
  return false;
}

Picoseconds Fusion::change(int node, int other) const {
  return kernel_time(graph_, merged_members(node, other), kind(node)) - costs_[at(node)] -
         costs_[at(other)];
}

void Fusion::merge(int node, int other) {
  REVERIE_CHECK(allows(node, other));
  size_t before = at(node), after = at(other);
  if (position_[before] > position_[after]) std::swap(before, after);
  std::vector<int> both = merged_members(node, other);
  total_ -= costs_[before] + costs_[after];
  costs_[after] = kernel_time(graph_, both, kind(node));
  total_ += costs_[after];
  bound_by_arithmetic_[after] += bound_by_arithmetic_[before];
  for (const int one : members_[before])
    cluster_[static_cast<size_t>(one)] = static_cast<int>(after);
  members_[before].clear();
  members_[after] = std::move(both);
  reorder(before, after);
}

/// What was found to come after the two moves behind them, and keeps its order.
void Fusion::reorder(size_t before, size_t after) {
  const auto first = order_.begin() + position_[before];
  const auto last = order_.begin() + position_[after] + 1;
  *first = -1;  // a gap
  if (found_.empty()) return;
  const auto stays = [&](int cluster) {
    return cluster < 0 || seen_[static_cast<size_t>(cluster)] != searches_;
  };
  std::stable_partition(first, last, stays);
  for (auto place = first; place != last; ++place)
    if (*place >= 0)
      position_[static_cast<size_t>(*place)] = static_cast<int>(place - order_.begin());
}

std::vector<int> greedy_fusion(const Simulator& simulator, const Placement& placement,
                               std::span<const double> priority) {
  const CostGraph& graph = simulator.graph();
  if (priority.size() != static_cast<size_t>(graph.size()))
    throw InputError("{} priorities do not fit a graph of {} nodes", priority.size(), graph.size());
  Fusion fusion(graph, simulator.topology(), placement.device);
  std::vector<int> nodes(priority.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::ranges::stable_sort(nodes, std::greater(),
                           [&](int node) { return priority[static_cast<size_t>(node)]; });
  for (const int node : nodes) {
    std::vector<int> readers;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
        readers.push_back(reader);
    sort_unique(readers);
    for (const int reader : readers)
      if (fusion.allows(node, reader) && fusion.change(node, reader) < Picoseconds{})
        fusion.merge(node, reader);
  }
  return fusion.clusters();
}

}  // namespace reverie
