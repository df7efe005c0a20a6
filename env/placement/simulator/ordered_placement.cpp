#include "env/placement/simulator/ordered_placement.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace reverie {
namespace {

enum MoveKind { kPlace, kEarlier, kJoin, kPlaceKernel };

std::vector<std::pair<int, int>> edges_of(const CostGraph& graph) {
  std::vector<std::pair<int, int>> edges;
  for (const CostTensor& tensor : graph.tensors())
    for (const int reader : tensor.readers) edges.emplace_back(tensor.producer, reader);
  return edges;
}

}  // namespace

PlacementEntities::PlacementEntities(const CostGraph& graph) {
  std::map<int, int> of_group;
  for (int node = 0; node < graph.size(); ++node) {
    const int group = graph.nodes()[static_cast<size_t>(node)].group;
    const bool is_new = group < 0 || of_group.try_emplace(group, size()).second;
    of_node_.push_back(is_new ? size() : of_group.at(group));
    if (is_new) nodes_.emplace_back();
    nodes_[static_cast<size_t>(of_node_.back())].push_back(node);
  }
}

std::vector<int> PlacementEntities::spread(const std::vector<int>& devices) const {
  std::vector<int> of_nodes;
  for (const int entity : of_node_) of_nodes.push_back(devices[static_cast<size_t>(entity)]);
  return of_nodes;
}

std::vector<int> order_by(const CostGraph& graph, const std::vector<int64_t>& priority) {
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

OrderedPlacement::OrderedPlacement(const CostGraph& graph, int devices, const Placement& start)
    : graph_(&graph),
      devices_(devices),
      entities_(std::make_shared<const PlacementEntities>(graph)),
      edges_(std::make_shared<const std::vector<std::pair<int, int>>>(
          start.kernel.empty() ? std::vector<std::pair<int, int>>() : edges_of(graph))),
      placement_{start.device, {}, start.kernel},
      order_(order_by(graph, start.priority)) {
  for (int node = 0; node < graph.size(); ++node) {
    const int first = entities_->nodes(entities_->of(node)).front();
    placement_.device[static_cast<size_t>(node)] = start.device[static_cast<size_t>(first)];
  }
  placement_.priority.resize(order_.size());
  for (size_t i = 0; i < order_.size(); ++i)
    placement_.priority[static_cast<size_t>(order_[i])] = -static_cast<int64_t>(i);
}

int OrderedPlacement::moves(int kind) const {
  if (kind == kPlace) return entities_->size() * (devices_ - 1);
  if (kind == kEarlier) return static_cast<int>(order_.size());
  if (kind == kJoin) return static_cast<int>(edges_->size());
  return static_cast<int>(placement_.kernel.size()) * (devices_ - 1);
}

int OrderedPlacement::earlier_place(int place) const {
  const auto device_at = [&](int at) {
    return placement_.device[static_cast<size_t>(order_[static_cast<size_t>(at)])];
  };
  int earlier = place - 1;
  while (earlier >= 0 && device_at(earlier) != device_at(place)) --earlier;
  return earlier;
}

std::vector<int> OrderedPlacement::run_first(int first, int place) const {
  std::vector<bool> is_needed(static_cast<size_t>(place - first + 1));
  std::vector<int> nodes;  // the last comes first
  is_needed.back() = true;
  for (int at = place; at >= first; --at) {
    if (!is_needed[static_cast<size_t>(at - first)]) continue;
    if (at == first) return {};
    nodes.push_back(order_[static_cast<size_t>(at)]);
    for (const int input : graph_->inputs(nodes.back())) {
      const int producer = graph_->tensors()[static_cast<size_t>(input)].producer;
      const auto from = static_cast<int>(-placement_.priority[static_cast<size_t>(producer)]);
      if (from >= first) is_needed[static_cast<size_t>(from - first)] = true;
    }
  }
  std::ranges::reverse(nodes);
  return nodes;
}

bool OrderedPlacement::allows(const PlacementMove& move) const {
  if (move.kind == kPlaceKernel) return !kernel_led_by(move.index / (devices_ - 1)).empty();
  if (move.kind != kEarlier) return true;
  const int earlier = earlier_place(move.index);
  return earlier >= 0 && !run_first(earlier, move.index).empty();
}

/// The device of this number among those where a node is not.
int OrderedPlacement::other_device(int node, int number) const {
  return number + (number >= placement_.device[static_cast<size_t>(node)] ? 1 : 0);
}

void OrderedPlacement::move_entity(int entity, int to) {
  for (const int node : entities_->nodes(entity)) placement_.device[static_cast<size_t>(node)] = to;
}

void OrderedPlacement::join_or_leave(int edge) {
  const auto [producer, reader] = edges()[static_cast<size_t>(edge)];
  std::vector<int>& kernel = placement_.kernel;
  int& of_reader = kernel[static_cast<size_t>(reader)];
  const int of_producer = kernel[static_cast<size_t>(producer)];
  of_reader = of_reader == of_producer ? std::ranges::max(kernel) + 1 : of_producer;
}

/// The nodes of its kernel on its device; empty where it is not the first of several.
std::vector<int> OrderedPlacement::kernel_led_by(int node) const {
  std::vector<int> nodes;
  const auto& [device, priority, kernel] = placement_;
  for (size_t other = 0; other < kernel.size(); ++other) {
    const auto one = static_cast<size_t>(node);
    if (kernel[other] != kernel[one] || device[other] != device[one]) continue;
    if (other < one) return {};
    nodes.push_back(static_cast<int>(other));
  }
  return nodes.size() > 1 ? nodes : std::vector<int>();
}

bool OrderedPlacement::apply(const PlacementMove& move) {
  const int others = devices_ - 1;
  if (move.kind == kEarlier) return move_earlier(move.index);
  if (move.kind == kJoin) {
    join_or_leave(move.index);
  } else if (move.kind == kPlace) {
    const int entity = move.index / others, first = entities_->nodes(entity).front();
    move_entity(entity, other_device(first, move.index % others));
  } else {
    const std::vector<int> nodes = kernel_led_by(move.index / others);
    if (nodes.empty()) return false;
    const int to = other_device(nodes.front(), move.index % others);
    for (const int node : nodes) move_entity(entities_->of(node), to);
  }
  return true;
}

bool OrderedPlacement::move_earlier(int place) {
  const int first = earlier_place(place);
  if (first < 0) return false;
  std::vector<int> nodes = run_first(first, place);
  if (nodes.empty()) return false;
  for (int at = first; at < place; ++at)
    if (const int node = order_[static_cast<size_t>(at)]; std::ranges::count(nodes, node) == 0)
      nodes.push_back(node);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int at = first + static_cast<int>(i);
    order_[static_cast<size_t>(at)] = nodes[i];
    placement_.priority[static_cast<size_t>(nodes[i])] = -at;
  }
  return true;
}

}  // namespace reverie
