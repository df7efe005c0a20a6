#include "env/placement/search/plan.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <tuple>

namespace reverie {

Plan::Plan(const Simulator& simulator, double reserve)
    : simulator_(&simulator),
      busy_(static_cast<size_t>(simulator.topology().size())),
      entities_(simulator.graph()),
      entity_bytes_(static_cast<size_t>(entities_.size())),
      runs_(entity_bytes_.size() * busy_.size(), true) {
  for (int node = 0; node < graph().size(); ++node) {
    const auto entity = static_cast<size_t>(entities_.of(node));
    entity_bytes_[entity] += graph().nodes()[static_cast<size_t>(node)].persistent_bytes;
    for (size_t device = 0; device < busy_.size(); ++device)
      if (!simulator.can_run(node, static_cast<int>(device)))
        runs_[entity * busy_.size() + device] = false;
  }
  clear(reserve, Transfers::kFree);
}

void Plan::clear(double reserve, Transfers transfers) {
  transfers_ = transfers;
  limit_.clear();
  for (const Device& device : simulator_->topology().devices) {
    const auto kept = static_cast<int64_t>(reserve * static_cast<double>(device.memory_bytes));
    limit_.push_back(device.memory_bytes == Device::kUnlimited ? device.memory_bytes
                                                               : device.memory_bytes - kept);
  }
  for (auto& busy : busy_) busy.clear();
  persistent_.assign(busy_.size(), 0);
  start_.assign(static_cast<size_t>(graph().size()), 0);
  end_.assign(start_.size(), 0);
  made_.assign(graph().tensors().size(), {});
  device_.assign(start_.size(), -1);
  placed_.clear();
  sends_until_.assign(busy_.size(), 0);
  receives_until_.assign(busy_.size(), 0);
  if (transfers_ == Transfers::kQueued)
    arrived_.assign(graph().tensors().size() * busy_.size(), -1);
  entity_device_.assign(entity_bytes_.size(), -1);
}

const std::vector<int>& Plan::choices(int node) {
  const auto entity = static_cast<size_t>(entities_.of(node));
  choices_.clear();
  if (entity_device_[entity] >= 0) {
    choices_.push_back(entity_device_[entity]);
    return choices_;
  }
  for (const bool must_fit : {true, false}) {
    for (size_t device = 0; device < busy_.size(); ++device)
      if (runs_[entity * busy_.size() + device] &&
          (!must_fit || entity_bytes_[entity] <= limit_[device] - persistent_[device]))
        choices_.push_back(static_cast<int>(device));
    if (!choices_.empty()) return choices_;
  }
  choices_.resize(busy_.size());
  std::iota(choices_.begin(), choices_.end(), 0);
  return choices_;
}

int64_t Plan::arrival(int tensor, int device, int64_t receives_until) const {
  const auto [made, from] = made_[static_cast<size_t>(tensor)];
  if (from == device) return made;
  const int64_t sent = simulator_->transfer(tensor, from, device).count;
  if (transfers_ == Transfers::kFree) return made + sent;
  if (arrived_[cell(tensor, device)] >= 0) return arrived_[cell(tensor, device)];
  int64_t start = made;
  if (simulator_->topology().send_engines)
    start = std::max(start, sends_until_[static_cast<size_t>(from)]);
  if (simulator_->topology().receive_engines) start = std::max(start, receives_until);
  return start + sent;
}

int64_t Plan::ready(int node, int device) const {
  int64_t time = 0, receives_until = receives_until_[static_cast<size_t>(device)];
  for (const int input : graph().inputs(node)) {
    const int64_t arrived = arrival(input, device, receives_until);
    if (home(input) != device) receives_until = std::max(receives_until, arrived);
    time = std::max(time, arrived);
  }
  return time;
}

void Plan::book_transfers(int node, int device) {
  int64_t& receives_until = receives_until_[static_cast<size_t>(device)];
  for (const int input : graph().inputs(node)) {
    if (home(input) == device || arrived_[cell(input, device)] >= 0) continue;
    const int64_t arrived = arrival(input, device, receives_until);
    arrived_[cell(input, device)] = arrived;
    int64_t& sends_until = sends_until_[static_cast<size_t>(home(input))];
    sends_until = std::max(sends_until, arrived);
    receives_until = std::max(receives_until, arrived);
  }
}

int64_t Plan::earliest(int node, int device, bool gaps) const {
  const auto& busy = busy_[static_cast<size_t>(device)];
  int64_t start = ready(node, device);
  if (!gaps) return busy.empty() ? start : std::max(start, busy.back().end);
  const int64_t time = simulator_->cost(node, device).count;
  const auto is_over = [&](const Interval& interval) { return interval.end <= start; };
  for (auto next = std::ranges::partition_point(busy, is_over); next != busy.end(); ++next) {
    if (start + time <= next->begin) break;
    start = std::max(start, next->end);
  }
  return start;
}

void Plan::put(int node, int device, int64_t start) {
  const auto i = static_cast<size_t>(node), d = static_cast<size_t>(device);
  if (transfers_ == Transfers::kQueued) book_transfers(node, device);
  device_[i] = device;
  start_[i] = start;
  end_[i] = start + simulator_->cost(node, device).count;
  const auto [first, last] = graph().outputs(node);
  for (int tensor = first; tensor < last; ++tensor)
    made_[static_cast<size_t>(tensor)] = {end_[i], device};
  const Interval interval{start, end_[i]};
  busy_[d].insert(std::ranges::upper_bound(busy_[d], interval), interval);
  placed_.push_back(node);
  const auto entity = static_cast<size_t>(entities_.of(node));
  if (entity_device_[entity] < 0) persistent_[d] += entity_bytes_[entity];
  entity_device_[entity] = device;
}

void Plan::put_where_it_ends_first(int node, bool gaps) {
  std::tuple<int64_t, int64_t, int> best{INT64_MAX, 0, 0};  // its end, start and device
  for (const int device : choices(node)) {
    const int64_t start = earliest(node, device, gaps);
    best = std::min(best, {start + simulator_->cost(node, device).count, start, device});
  }
  put(node, std::get<2>(best), std::get<1>(best));
}

Placement Plan::placement() const {
  std::vector<int> order = placed_;
  std::ranges::stable_sort(order, {}, [&](int node) { return start(node); });
  Placement placement{device_, std::vector<int64_t>(device_.size())};
  for (size_t i = 0; i < order.size(); ++i)
    placement.priority[static_cast<size_t>(order[i])] = -static_cast<int64_t>(i);
  return placement;
}

std::vector<Rank> upward_ranks(const Simulator& simulator, bool with_transfers) {
  const CostGraph& graph = simulator.graph();
  const int devices = simulator.topology().size();
  const auto cost = [&](int node) {
    Rank sum = 0;
    for (int device = 0; device < devices; ++device) sum += simulator.cost(node, device).count;
    return sum * std::max(devices - 1, 1);
  };
  const auto transfer = [&](int tensor) {
    Rank sum = 0;
    for (int from = 0; from < devices; ++from)
      for (int to = 0; to < devices; ++to)
        if (from != to) sum += simulator.transfer(tensor, from, to).count;
    return sum;
  };
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

ReadyNodes::ReadyNodes(const CostGraph& graph) : graph_(&graph) {
  for (int node = 0; node < graph.size(); ++node) {
    waiting_.push_back(graph.inputs(node).size());
    if (waiting_.back() == 0) nodes_.push_back(node);
  }
}

void ReadyNodes::done(int node) {
  std::erase(nodes_, node);
  const auto [first, last] = graph_->outputs(node);
  for (int tensor = first; tensor < last; ++tensor)
    for (const int reader : graph_->tensors()[static_cast<size_t>(tensor)].readers)
      if (--waiting_[static_cast<size_t>(reader)] == 0) nodes_.push_back(reader);
}

double mean_cost(const Simulator& simulator, int node) {
  double sum = 0;
  for (int device = 0; device < simulator.topology().size(); ++device)
    sum += static_cast<double>(simulator.cost(node, device).count);
  return sum / simulator.topology().size();
}

double mean_transfer(const Simulator& simulator, int tensor) {
  const int devices = simulator.topology().size();
  double sum = 0;
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to)
      if (from != to) sum += static_cast<double>(simulator.transfer(tensor, from, to).count);
  return sum / std::max(devices * (devices - 1), 1);
}

}  // namespace reverie
