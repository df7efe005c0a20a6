#include "env/placement/simulator/ordered_placement.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace reverie {
namespace {

enum MoveKind { kPlace, kEarlier, kFuse };

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
      placement_{start.device, {}, start.fusion},
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
  return static_cast<int>(kind == kEarlier ? order_.size() : placement_.fusion.size());
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
  if (move.kind != kEarlier) return true;
  const int earlier = earlier_place(move.index);
  return earlier >= 0 && !run_first(earlier, move.index).empty();
}

void OrderedPlacement::move_entity(int number) {
  const int others = devices_ - 1;
  const auto& nodes = entities_->nodes(number / others);
  const int from = placement_.device[static_cast<size_t>(nodes.front())];
  const int to = number % others + (number % others >= from ? 1 : 0);
  for (const int node : nodes) placement_.device[static_cast<size_t>(node)] = to;
}

bool OrderedPlacement::apply(const PlacementMove& move) {
  if (move.kind == kPlace) {
    move_entity(move.index);
    return true;
  }
  if (move.kind == kFuse) {
    double& fusion = placement_.fusion[static_cast<size_t>(move.index)];
    fusion = -1 - fusion;  // keeps its place among those that are fused
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
    order_[static_cast<size_t>(place)] = nodes[i];
    placement_.priority[static_cast<size_t>(nodes[i])] = -place;
  }
  return true;
}

}  // namespace reverie
