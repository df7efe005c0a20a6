#include "env/placement/heuristics.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <ranges>
#include <tuple>

namespace reverie {
namespace {

/// A schedule without contention that grows node by node.
class Plan {
 public:
  explicit Plan(const Simulator& simulator)
      : simulator_(simulator),
        busy_(static_cast<size_t>(simulator.topology().size())),
        persistent_(busy_.size()),
        start_(static_cast<size_t>(simulator.graph().size())),
        end_(start_.size()),
        device_(start_.size(), -1) {
    for (const CostNode& node : graph().nodes())
      if (node.group >= 0) group_bytes_[node.group] += node.persistent_bytes;
  }

  /// Where a node may go: its group's device, else all that have the memory, else all.
  std::vector<int> choices(int node) const {
    const CostNode& one = graph().nodes()[static_cast<size_t>(node)];
    if (const auto group = group_device_.find(one.group); group != group_device_.end())
      return {group->second};
    std::vector<int> all(busy_.size()), fitting;
    std::iota(all.begin(), all.end(), 0);
    std::ranges::copy_if(all, std::back_inserter(fitting), [&](int device) {
      const auto i = static_cast<size_t>(device);
      return bytes_of(one) <= simulator_.topology().devices[i].memory_bytes - persistent_[i];
    });
    return fitting.empty() ? all : fitting;
  }

  /// When all that a node reads is on a device.
  int64_t ready(int node, int device) const {
    int64_t time = 0;
    for (const int input : graph().inputs(node)) {
      const int producer = graph().tensors()[static_cast<size_t>(input)].producer;
      const int from = device_[static_cast<size_t>(producer)];
      const int64_t sent = from == device ? 0 : simulator_.transfer(input, from, device).count;
      time = std::max(time, end_[static_cast<size_t>(producer)] + sent);
    }
    return time;
  }

  /// The earliest start, in the first gap that is large enough or, without `gaps`, at the end.
  int64_t earliest(int node, int device, bool gaps) const {
    const auto& busy = busy_[static_cast<size_t>(device)];
    int64_t start = ready(node, device);
    if (!gaps) return busy.empty() ? start : std::max(start, busy.back().second);
    const int64_t time = simulator_.cost(node, device).count;
    const auto is_over = [&](const auto& interval) { return interval.second <= start; };
    for (auto next = std::ranges::partition_point(busy, is_over); next != busy.end(); ++next) {
      if (start + time <= next->first) break;
      start = std::max(start, next->second);
    }
    return start;
  }

  void put(int node, int device, int64_t start) {
    const auto i = static_cast<size_t>(node), d = static_cast<size_t>(device);
    device_[i] = device;
    start_[i] = start;
    end_[i] = start + simulator_.cost(node, device).count;
    const std::pair interval(start, end_[i]);
    busy_[d].insert(std::ranges::upper_bound(busy_[d], interval), interval);
    placed_.push_back(node);
    const CostNode& one = graph().nodes()[i];
    if (one.group < 0) {
      persistent_[d] += one.persistent_bytes;
    } else if (group_device_.emplace(one.group, device).second) {
      persistent_[d] += bytes_of(one);
    }
  }

  /// Of nodes that start at one time, the one that was put first comes first.
  Placement finish() {
    std::ranges::stable_sort(placed_, {},
                             [&](int node) { return start_[static_cast<size_t>(node)]; });
    Placement placement{device_, std::vector<int64_t>(device_.size())};
    for (size_t i = 0; i < placed_.size(); ++i)
      placement.priority[static_cast<size_t>(placed_[i])] = -static_cast<int64_t>(i);
    return placement;
  }

 private:
  const CostGraph& graph() const { return simulator_.graph(); }
  int64_t bytes_of(const CostNode& node) const {
    return node.group < 0 ? node.persistent_bytes : group_bytes_.at(node.group);
  }

  const Simulator& simulator_;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> busy_;  ///< by device, ascending
  std::vector<int64_t> persistent_;
  std::vector<int64_t> start_, end_;
  std::vector<int> device_, placed_;
  std::map<int, int64_t> group_bytes_;
  std::map<int, int> group_device_;
};

/// Means times the number of pairs of different devices, so that equal ranks are equal.
class Ranks {
 public:
  using Rank = __int128;

  explicit Ranks(const Simulator& simulator)
      : simulator_(simulator), devices_(simulator.topology().size()) {}

  /// The longest path from each node on, its own mean cost included.
  std::vector<Rank> upward(bool with_transfers) const {
    const CostGraph& graph = simulator_.graph();
    std::vector<Rank> ranks(static_cast<size_t>(graph.size()));
    for (const int node : graph.order() | std::views::reverse) {
      Rank longest = 0;
      const auto [first, last] = graph.outputs(node);
      for (int tensor = first; tensor < last; ++tensor) {
        const Rank sent = with_transfers ? transfer(tensor) : 0;
        for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
          longest = std::max(longest, sent + ranks[static_cast<size_t>(reader)]);
      }
      ranks[static_cast<size_t>(node)] = cost(node) + longest;
    }
    return ranks;
  }

 private:
  Rank cost(int node) const {
    Rank sum = 0;
    for (int device = 0; device < devices_; ++device) sum += simulator_.cost(node, device).count;
    return sum * std::max(devices_ - 1, 1);
  }
  Rank transfer(int tensor) const {
    Rank sum = 0;
    for (int from = 0; from < devices_; ++from)
      for (int to = 0; to < devices_; ++to)
        if (from != to) sum += simulator_.transfer(tensor, from, to).count;
    return sum;
  }

  const Simulator& simulator_;
  int devices_;
};

/// Nodes all of whose inputs have been computed.
class ReadyNodes {
 public:
  explicit ReadyNodes(const CostGraph& graph) : graph_(graph) {
    for (int node = 0; node < graph.size(); ++node) {
      waiting_.push_back(graph.inputs(node).size());
      if (waiting_.back() == 0) nodes_.push_back(node);
    }
  }
  const std::vector<int>& nodes() const { return nodes_; }
  void done(int node) {
    std::erase(nodes_, node);
    const auto [first, last] = graph_.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph_.tensors()[static_cast<size_t>(tensor)].readers)
        if (--waiting_[static_cast<size_t>(reader)] == 0) nodes_.push_back(reader);
  }

 private:
  const CostGraph& graph_;
  std::vector<size_t> waiting_;
  std::vector<int> nodes_;
};

}  // namespace

Placement on_one_device(const Simulator& simulator, int device) {
  Plan plan(simulator);
  for (const int node : simulator.graph().order())
    plan.put(node, device, plan.earliest(node, device, false));
  return plan.finish();
}

std::vector<int64_t> path_priorities(const Simulator& simulator) {
  const CostGraph& graph = simulator.graph();
  const int devices = simulator.topology().size();
  std::vector<int64_t> longest(static_cast<size_t>(graph.size()));
  for (const int node : graph.order() | std::views::reverse) {
    int64_t after = 0;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
        after = std::max(after, longest[static_cast<size_t>(reader)]);
    int64_t sum = 0;
    for (int device = 0; device < devices; ++device) sum += simulator.cost(node, device).count;
    longest[static_cast<size_t>(node)] = after + sum / devices;
  }
  return longest;
}

Placement heft(const Simulator& simulator) {
  const auto ranks = Ranks(simulator).upward(/*with_transfers=*/true);
  std::vector<int> order = simulator.graph().order();  // it decides between equal ranks
  std::ranges::stable_sort(order, std::greater(),
                           [&](int node) { return ranks[static_cast<size_t>(node)]; });
  Plan plan(simulator);
  for (const int node : order) {
    std::tuple<int64_t, int64_t, int> best{INT64_MAX, 0, 0};  // its end, start and device
    for (const int device : plan.choices(node)) {
      const int64_t start = plan.earliest(node, device, true);
      best = std::min(best, {start + simulator.cost(node, device).count, start, device});
    }
    plan.put(node, std::get<2>(best), std::get<1>(best));
  }
  return plan.finish();
}

Placement etf(const Simulator& simulator) {
  const auto ranks = Ranks(simulator).upward(/*with_transfers=*/false);
  Plan plan(simulator);
  ReadyNodes ready(simulator.graph());
  while (!ready.nodes().empty()) {
    std::tuple<int64_t, Ranks::Rank, int, int> best{INT64_MAX, 0, 0, 0};  // start, -rank, ...
    for (const int node : ready.nodes())
      for (const int device : plan.choices(node))
        best = std::min(best, {plan.earliest(node, device, false),
                               -ranks[static_cast<size_t>(node)], node, device});
    const auto [start, unused, node, device] = best;
    plan.put(node, device, start);
    ready.done(node);
  }
  return plan.finish();
}

Placement m_topo(const Simulator& simulator) {
  const CostGraph& graph = simulator.graph();
  const auto bytes_of = [&](int node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    int64_t bytes = one.persistent_bytes + one.temporary_bytes;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      bytes += graph.tensors()[static_cast<size_t>(tensor)].bytes;
    return bytes;
  };
  int64_t all = 0, largest = 0;
  for (int node = 0; node < graph.size(); ++node) {
    all += bytes_of(node);
    largest = std::max(largest, bytes_of(node));
  }
  const int devices = simulator.topology().size();
  const int64_t share = all / devices + largest;
  Plan plan(simulator);
  std::vector<int64_t> filled(static_cast<size_t>(devices));
  int current = 0;
  for (const int node : graph.order()) {
    if (filled[static_cast<size_t>(current)] + bytes_of(node) > share && current + 1 < devices)
      ++current;
    const std::vector<int> choices = plan.choices(node);
    const bool is_free = std::ranges::count(choices, current) > 0;
    const int device = is_free ? current : choices.back();
    filled[static_cast<size_t>(device)] += bytes_of(node);
    plan.put(node, device, plan.earliest(node, device, false));
  }
  return plan.finish();
}

}  // namespace reverie
