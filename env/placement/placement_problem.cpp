#include "env/placement/placement_problem.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "env/placement/bounds.h"

namespace reverie {
namespace {

enum MoveKind { kPlace, kEarlier };

/// By priority, but never before what it reads.
std::vector<int> order_of(const CostGraph& graph, const std::vector<int64_t>& priority) {
  using Entry = std::tuple<int64_t, int>;
  std::priority_queue<Entry> ready;
  std::vector<size_t> waiting;
  const auto push = [&](int node) {
    ready.emplace(priority.empty() ? 0 : priority[static_cast<size_t>(node)], -node);
  };
  for (int node = 0; node < graph.size(); ++node) {
    waiting.push_back(graph.inputs(node).size());
    if (waiting.back() == 0) push(node);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(-std::get<1>(ready.top()));
    ready.pop();
    const auto [first, last] = graph.outputs(order.back());
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
        if (--waiting[static_cast<size_t>(reader)] == 0) push(reader);
  }
  return order;
}

std::vector<std::vector<int>> entities_of(const CostGraph& graph) {
  std::vector<std::vector<int>> entities;
  std::map<int, size_t> of_group;
  for (int node = 0; node < graph.size(); ++node) {
    const int group = graph.nodes()[static_cast<size_t>(node)].group;
    const bool is_new = group < 0 || of_group.try_emplace(group, entities.size()).second;
    if (is_new) entities.emplace_back();
    (is_new ? entities.back() : entities[of_group.at(group)]).push_back(node);
  }
  return entities;
}

}  // namespace

PlacementProblem::PlacementProblem(const CostGraph& graph, const Topology& topology,
                                   const Placement& start)
    : simulator_(graph, topology), placement_(start) {
  simulator_.run(start);  // it refuses what does not fit the graph
  shared_ = describe();
  for (const auto& entity : shared_->entities)
    for (const int node : entity)
      placement_.device[static_cast<size_t>(node)] =
          start.device[static_cast<size_t>(entity.front())];
  order_ = order_of(graph, start.priority);
  placement_.priority.resize(order_.size());
  for (size_t i = 0; i < order_.size(); ++i)
    placement_.priority[static_cast<size_t>(order_[i])] = -static_cast<int64_t>(i);
  outcome_ = simulator_.run(placement_, Dispatch::kInOrder);
}

std::shared_ptr<const PlacementProblem::Shared> PlacementProblem::describe() const {
  const CostGraph& graph = simulator_.graph();
  const Topology& topology = simulator_.topology();
  const int devices = topology.size();
  auto shared = std::make_shared<Shared>();
  shared->entities = entities_of(graph);
  for (const Device& device : topology.devices)
    shared->has_limits = shared->has_limits || device.memory_bytes != Device::kUnlimited;
  shared->shortest = static_cast<double>(
      std::max(critical_path(graph, topology), work_bound(graph, topology)).count);
  for (int node = 0; node < graph.size(); ++node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    Picoseconds longest;
    for (int device = 0; device < devices; ++device)
      longest = std::max(longest, simulator_.cost(node, device));
    shared->longest += static_cast<double>(longest.count);
    shared->bytes += static_cast<double>(one.persistent_bytes + one.temporary_bytes);
  }
  for (int tensor = 0; tensor < std::ssize(graph.tensors()); ++tensor) {
    Picoseconds longest;
    for (int from = 0; from < devices; ++from)
      for (int to = 0; to < devices; ++to)
        longest = std::max(longest, simulator_.transfer(tensor, from, to));
    shared->longest += static_cast<double>(longest.count) * devices;
    const int64_t bytes = graph.tensors()[static_cast<size_t>(tensor)].bytes;
    shared->bytes += static_cast<double>(bytes) * devices;
  }
  return shared;
}

std::unique_ptr<Problem> PlacementProblem::copy() const {
  return std::make_unique<PlacementProblem>(*this);
}

double PlacementProblem::cost_of(const Outcome& outcome) const {
  const auto makespan = static_cast<double>(outcome.makespan.count);
  if (outcome.feasible()) return makespan;
  const double missing = static_cast<double>(outcome.bytes_over) / (shared_->bytes + 1);
  return makespan + shared_->longest * (1 + missing);
}

double PlacementProblem::lower_bound() const { return shared_->shortest; }

int PlacementProblem::moves(int kind) const {
  const auto others = static_cast<size_t>(simulator_.topology().size()) - 1;
  return static_cast<int>(kind == kPlace ? shared_->entities.size() * others : order_.size());
}

int PlacementProblem::earlier_place(int place) const {
  const auto device_at = [&](int at) {
    return placement_.device[static_cast<size_t>(order_[static_cast<size_t>(at)])];
  };
  int earlier = place - 1;
  while (earlier >= 0 && device_at(earlier) != device_at(place)) --earlier;
  return earlier;
}

std::vector<int> PlacementProblem::run_first(int first, int place) const {
  const CostGraph& graph = simulator_.graph();
  std::vector<bool> is_needed(static_cast<size_t>(place - first + 1));
  std::vector<int> nodes;  // the last comes first
  is_needed.back() = true;
  for (int at = place; at >= first; --at) {
    if (!is_needed[static_cast<size_t>(at - first)]) continue;
    if (at == first) return {};
    nodes.push_back(order_[static_cast<size_t>(at)]);
    for (const int input : graph.inputs(nodes.back())) {
      const int producer = graph.tensors()[static_cast<size_t>(input)].producer;
      const auto from = static_cast<int>(-placement_.priority[static_cast<size_t>(producer)]);
      if (from >= first) is_needed[static_cast<size_t>(from - first)] = true;
    }
  }
  std::ranges::reverse(nodes);
  return nodes;
}

bool PlacementProblem::allows(const Move& move) const {
  if (move.kind == kPlace) return true;
  const int earlier = earlier_place(move.index);
  return earlier >= 0 && !run_first(earlier, move.index).empty();
}

void PlacementProblem::move_entity(int number, Placement& placement) const {
  const int others = simulator_.topology().size() - 1;
  const auto& entity = shared_->entities[static_cast<size_t>(number / others)];
  const int from = placement.device[static_cast<size_t>(entity.front())];
  const int to = number % others + (number % others >= from ? 1 : 0);
  for (const int node : entity) placement.device[static_cast<size_t>(node)] = to;
}

bool PlacementProblem::take(const Move& move, Placement& placement, std::vector<int>& order) const {
  if (move.kind == kPlace) {
    move_entity(move.index, placement);
    return true;
  }
  const int first = earlier_place(move.index);
  if (first < 0) return false;
  std::vector<int> nodes = run_first(first, move.index);
  if (nodes.empty()) return false;
  for (int place = first; place < move.index; ++place)
    if (const int node = order_[static_cast<size_t>(place)]; std::ranges::count(nodes, node) == 0)
      nodes.push_back(node);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int place = first + static_cast<int>(i);
    order[static_cast<size_t>(place)] = nodes[i];
    placement.priority[static_cast<size_t>(nodes[i])] = -place;
  }
  return true;
}

double PlacementProblem::change(const Move& move) const {
  tried_ = placement_;
  tried_order_ = order_;
  if (!take(move, tried_, tried_order_)) return 0;
  return cost_of(simulator_.run(tried_, Dispatch::kInOrder)) - cost();
}

bool PlacementProblem::apply(const Move& move) {
  if (!take(move, placement_, order_)) return false;
  outcome_ = simulator_.run(placement_, Dispatch::kInOrder);
  return true;
}

uint64_t PlacementProblem::hash() const {
  uint64_t hash = 0;
  for (const int device : placement_.device)
    hash = hash_combine(hash, static_cast<uint64_t>(device));
  for (const int node : order_) hash = hash_combine(hash, static_cast<uint64_t>(node));
  return hash;
}

std::shared_ptr<const Snapshot> PlacementProblem::snapshot() const {
  return std::make_shared<PlacementSnapshot>(placement_);
}

bool PlacementProblem::is(const Snapshot& snapshot) const {
  const auto& other = dynamic_cast<const PlacementSnapshot&>(snapshot).placement;
  return other.device == placement_.device && other.priority == placement_.priority;
}

}  // namespace reverie
