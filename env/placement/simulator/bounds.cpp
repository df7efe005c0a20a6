#include "env/placement/simulator/bounds.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <vector>

namespace reverie {
namespace {

/// Of each node: how long it takes, and the longest paths before and after it.
struct Windows {
  std::vector<int64_t> time, head, tail;
  int64_t path = 0;
};

std::vector<int64_t> fastest_times(const CostGraph& graph, const Topology& topology) {
  std::set<int> kinds;
  for (const Device& device : topology.devices) kinds.insert(graph.kind_named(device.kind));
  std::vector<int64_t> times;
  for (int node = 0; node < graph.size(); ++node) {
    const auto costs =
        kinds | std::views::transform([&](int k) { return graph.cost(node, k).count; });
    times.push_back(std::ranges::min(costs));
  }
  return times;
}

Windows windows_of(const CostGraph& graph, const Topology& topology) {
  const auto nodes = static_cast<size_t>(graph.size());
  Windows all{fastest_times(graph, topology), std::vector<int64_t>(nodes),
              std::vector<int64_t>(nodes)};
  const auto for_readers = [&](int node, const auto& visit) {
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
        visit(static_cast<size_t>(reader));
  };
  for (const int node : graph.order()) {
    const auto i = static_cast<size_t>(node);
    const int64_t end = all.head[i] + all.time[i];
    all.path = std::max(all.path, end);
    for_readers(node, [&](size_t reader) { all.head[reader] = std::max(all.head[reader], end); });
  }
  for (const int node : graph.order() | std::views::reverse) {
    int64_t& tail = all.tail[static_cast<size_t>(node)];
    for_readers(node,
                [&](size_t reader) { tail = std::max(tail, all.tail[reader] + all.time[reader]); });
  }
  return all;
}

/// What must be done from `begin` to `end` if all is done at `makespan`.
int64_t work_within(const Windows& all, int64_t begin, int64_t end, int64_t makespan) {
  int64_t work = 0;
  for (size_t i = 0; i < all.time.size(); ++i) {
    const int64_t after_begin = all.head[i] + all.time[i] - begin;
    const int64_t before_end = end - (makespan - all.tail[i] - all.time[i]);
    const int64_t inside = std::min({all.time[i], end - begin, after_begin, before_end});
    work += std::max<int64_t>(inside, 0);
  }
  return work;
}

bool may_fit(const Windows& all, int64_t devices, int64_t makespan) {
  const std::set<int64_t> begins(all.head.begin(), all.head.end());
  std::set<int64_t> ends;
  for (const int64_t tail : all.tail) ends.insert(makespan - tail);
  for (const int64_t begin : begins)
    for (const int64_t end : ends)
      if (end > begin && work_within(all, begin, end, makespan) > devices * (end - begin))
        return false;
  return true;
}

int64_t share_of(int64_t whole, int64_t devices) { return (whole + devices - 1) / devices; }

int64_t even_share(const Windows& all, int64_t devices) {
  int64_t work = 0;
  for (const int64_t time : all.time) work += time;
  return share_of(work, devices);
}

/// Of a node beside all weights; where it is fused, its tensors may never be in memory.
int64_t bytes_while_it_runs(const CostGraph& graph, int node, bool fused) {
  int64_t bytes = graph.nodes()[static_cast<size_t>(node)].temporary_bytes;
  if (fused) return bytes;
  const auto add = [&](int tensor) { bytes += graph.tensors()[static_cast<size_t>(tensor)].bytes; };
  for (const int tensor : graph.inputs(node)) add(tensor);
  const auto [first, last] = graph.outputs(node);
  for (int tensor = first; tensor < last; ++tensor) add(tensor);
  return bytes;
}

}  // namespace

Picoseconds critical_path(const CostGraph& graph, const Topology& topology) {
  return {windows_of(graph, topology).path};
}

Picoseconds work_bound(const CostGraph& graph, const Topology& topology) {
  return {even_share(windows_of(graph, topology), topology.size())};
}

Picoseconds interval_bound(const CostGraph& graph, const Topology& topology) {
  const Windows all = windows_of(graph, topology);
  const int64_t devices = topology.size();
  int64_t low = std::max(all.path, even_share(all, devices));  // below it nothing fits
  if (may_fit(all, devices, low)) return {low};
  int64_t high = low;
  do {
    low = high;
    high *= 2;
  } while (!may_fit(all, devices, high));
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (may_fit(all, devices, middle) ? high : low) = middle;
  }
  return {high};
}

int64_t memory_bound(const CostGraph& graph, const Topology& topology, bool fused) {
  int64_t weights = 0, most = 0, bound = 0;
  std::map<int, int64_t> of_group;
  for (const CostNode& node : graph.nodes()) {
    weights += node.persistent_bytes;
    if (node.group >= 0) of_group[node.group] += node.persistent_bytes;
  }
  for (int node = 0; node < graph.size(); ++node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    const int64_t bytes = bytes_while_it_runs(graph, node, fused);
    most = std::max(most, bytes);
    bound = std::max(bound, bytes + (one.group < 0 ? one.persistent_bytes : of_group[one.group]));
  }
  return std::max(bound, share_of(weights + most, topology.size()));
}

Picoseconds lower_bound(const CostGraph& graph, const Topology& topology) {
  constexpr int kMostForIntervals = 300;
  if (graph.size() <= kMostForIntervals) return interval_bound(graph, topology);
  return std::max(critical_path(graph, topology), work_bound(graph, topology));
}

}  // namespace reverie
