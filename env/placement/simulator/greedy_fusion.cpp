#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/sort_unique.h"
#include "env/placement/graph/kernel_cost.h"
#include "env/placement/simulator/fusion.h"

namespace reverie {
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
    bound_by_arithmetic_.push_back(is_bound_by_arithmetic(graph, node, kind(node)));
    total_ += costs_.back();
  }
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
  if (members_[a].size() + members_[b].size() > kMostNodes) return false;
  if (!graph_.can_run(node, kind(node)) || !graph_.can_run(other, kind(other))) return false;
  if (!starts_kernel(graph_, node) || !starts_kernel(graph_, other)) return false;
  const bool is_first = position_[a] < position_[b];
  return !has_way_around(is_first ? a : b, is_first ? b : a);
}

/// Adds what the clusters next to one are to a search: what reads from it, or what it reads from.
/// Whether it meets the other search.
bool Fusion::look_around(size_t cluster, Search& search, const Search& other) {
  bool meets = false;
  const auto see = [&](int node) {
    const size_t next = at(node);
    if (next == cluster || (next == other.start && cluster == search.start)) return;
    meets = meets || next == other.start || seen_[next] == other.stamp;
    const bool is_between = position_[next] > low_ && position_[next] < high_;
    if (!is_between || seen_[next] == search.stamp) return;
    seen_[next] = search.stamp;
    search.found.push_back(static_cast<int>(next));
  };
  for (const int node : members_[cluster]) {
    if (search.is_forward) {
      const auto [first, last] = graph_.outputs(node);
      for (int tensor = first; tensor < last; ++tensor)
        std::ranges::for_each(graph_.tensors()[static_cast<size_t>(tensor)].readers, see);
    } else {
      for (const int tensor : graph_.inputs(node))
        see(graph_.tensors()[static_cast<size_t>(tensor)].producer);
    }
  }
  return meets;
}

/// Searches from both sides, until they meet or one has found all on its side.
bool Fusion::has_way_around(size_t before, size_t after) {
  low_ = position_[before];
  high_ = position_[after];
  forward_.begin(before, ++searches_);
  backward_.begin(after, ++searches_);
  while (!forward_.is_done() && !backward_.is_done()) {
    Search& search = forward_.found.size() <= backward_.found.size() ? forward_ : backward_;
    const size_t cluster = search.next();
    if (look_around(cluster, search, &search == &forward_ ? backward_ : forward_)) return true;
  }
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

/// All that comes after the first of two moves behind the second, or all that comes before the
/// second to the front of the first. Each keeps its order.
void Fusion::reorder(size_t before, size_t after) {
  const auto first = order_.begin() + position_[before];
  const auto last = order_.begin() + position_[after] + 1;
  const Search& search = forward_.is_done() ? forward_ : backward_;
  if (!search.is_forward) std::swap(*first, *(last - 1));
  std::ranges::replace(first, last, static_cast<int>(before), kGap);
  position_[after] = search.is_forward ? position_[after] : position_[before];
  if (search.found.empty()) return;
  std::stable_partition(first, last, [&](int cluster) {
    const bool is_found = cluster != kGap && seen_[static_cast<size_t>(cluster)] == search.stamp;
    return is_found != search.is_forward;
  });
  for (auto place = first; place != last; ++place)
    if (*place != kGap)
      position_[static_cast<size_t>(*place)] = static_cast<int>(place - order_.begin());
}

namespace {

std::vector<int> readers_of(const CostGraph& graph, int node) {
  std::vector<int> readers;
  const auto [first, last] = graph.outputs(node);
  for (int tensor = first; tensor < last; ++tensor) {
    const auto& more = graph.tensors()[static_cast<size_t>(tensor)].readers;
    readers.insert(readers.end(), more.begin(), more.end());
  }
  sort_unique(readers);
  return readers;
}

/// Those of one kernel that are on one device have one number.
std::vector<int> split_by_device(const Placement& placement) {
  std::map<std::pair<int, int>, int> numbers;
  std::vector<int> split;
  for (size_t node = 0; node < placement.kernel.size(); ++node)
    split.push_back(numbers
                        .try_emplace({placement.kernel[node], placement.device.at(node)},
                                     static_cast<int>(numbers.size()))
                        .first->second);
  return split;
}

/// Whether Fusion allows clusters, each on one device.
bool is_allowed(const Simulator& simulator, const Placement& placement,
                const std::vector<int>& cluster) {
  const CostGraph& graph = simulator.graph();
  std::vector<int> kinds;
  for (const Device& device : simulator.topology().devices)
    kinds.push_back(graph.kind_named(device.kind));
  std::vector<size_t> sizes(cluster.size()), bound(cluster.size());
  for (int node = 0; node < graph.size(); ++node) {
    const auto of = static_cast<size_t>(cluster[static_cast<size_t>(node)]);
    const auto device = static_cast<size_t>(placement.device[static_cast<size_t>(node)]);
    if (device >= kinds.size()) return false;  // refused by Fusion
    ++sizes[of];
    bound[of] += is_bound_by_arithmetic(graph, node, kinds[device]) ? 1 : 0;
  }
  for (size_t of = 0; of < cluster.size(); ++of)
    if (sizes[of] > Fusion::kMostNodes || (sizes[of] > 1 && bound[of] > 1)) return false;
  return can_fuse(graph, cluster);
}

}  // namespace

std::vector<int> greedy_fusion(const Simulator& simulator, const Placement& placement,
                               std::span<const double> priority) {
  const CostGraph& graph = simulator.graph();
  if (priority.size() != static_cast<size_t>(graph.size()))
    throw InputError("{} priorities do not fit a graph of {} nodes", priority.size(), graph.size());
  const auto of = [&](int node) { return priority[static_cast<size_t>(node)]; };
  Fusion fusion(graph, simulator.topology(), placement.device);
  std::vector<int> nodes;
  for (int node = 0; node < graph.size(); ++node)
    if (of(node) >= 0) nodes.push_back(node);
  std::ranges::stable_sort(nodes, std::greater(), of);
  for (const int node : nodes)
    for (const int reader : readers_of(graph, node))
      if (fusion.allows(node, reader) && fusion.change(node, reader) < Picoseconds{})
        fusion.merge(node, reader);
  return fusion.clusters();
}

std::vector<int> kernels_of(const Simulator& simulator, const Placement& placement) {
  const CostGraph& graph = simulator.graph();
  require_parts(graph);
  const auto size = static_cast<size_t>(graph.size());
  if (placement.kernel.size() != size || placement.device.size() != size)
    throw InputError("{} devices and {} numbers of kernels do not fit a graph of {} nodes",
                     placement.device.size(), placement.kernel.size(), size);
  std::vector<int> split = split_by_device(placement);
  if (is_allowed(simulator, placement, split)) return split;
  Fusion fusion(graph, simulator.topology(), placement.device);
  for (bool merges = true; merges;) {
    merges = false;
    for (const int node : graph.order())
      for (const int reader : readers_of(graph, node)) {
        const bool is_one = split[static_cast<size_t>(node)] == split[static_cast<size_t>(reader)];
        if (!is_one || !fusion.allows(node, reader)) continue;
        fusion.merge(node, reader);
        merges = true;
      }
  }
  return fusion.clusters();
}

}  // namespace reverie
