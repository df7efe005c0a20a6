#include "core/rules/neighbourhood.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/base/sort_unique.h"

namespace reverie {
namespace {

bool looks_at_users(const Graph& graph, NodeId node, ValueId output) {
  return !graph.is_constant(node) &&
         graph.users(output).size() <= static_cast<size_t>(Neighbourhoods::kMostUsers);
}

template <class Use>
void for_each_neighbour(const Graph& graph, NodeId node, const Use& use) {
  for (const ValueId input : graph.inputs(node))
    if (input.valid()) use(graph.producer(input));
  for (const ValueId output : graph.outputs(node))
    for (const NodeId user : graph.users(output)) use(user);
}

}  // namespace

uint64_t Neighbourhoods::own_colour(const Graph& graph, NodeId node) const {
  auto hash = static_cast<uint64_t>(graph.op(node).id);
  if (&graph.op(node) != &input_op()) hash = hash_combine(hash, graph.attributes(node).hash());
  hash = hash_combine(hash, graph.is_constant(node));
  if (const WeightPtr& weight = graph.weight(node); weight != nullptr && weight->is_small())
    hash = hash_combine(hash, weight->identity());
  for (const ValueId output : graph.outputs(node))
    hash = hash_combine(hash, hash_of(graph.type(output)));
  return hash;
}

uint64_t Neighbourhoods::next_colour(const Graph& graph, NodeId node, int level) const {
  uint64_t hash = colour(node, level - 1);
  for (const ValueId input : graph.inputs(node))
    hash = hash_combine(hash, input.valid() ? hash_combine(colour(graph.producer(input), level - 1),
                                                           graph.output_index(input))
                                            : 0);
  for (const ValueId output : graph.outputs(node)) {
    uint64_t users = graph.is_output(output);
    if (looks_at_users(graph, node, output)) {
      for (const NodeId user : graph.users(output)) {
        const auto inputs = graph.inputs(user);
        const auto place = std::find(inputs.begin(), inputs.end(), output) - inputs.begin();
        users += mix64(hash_combine(colour(user, level - 1), static_cast<uint64_t>(place)));
      }
    }
    hash = hash_combine(hash, users);
  }
  return hash;
}

std::vector<NodeId> Neighbourhoods::update(const Graph& graph, std::span<const NodeId> changed) {
  const auto known = static_cast<int32_t>(colours_.size());
  colours_.extend(static_cast<size_t>(graph.node_capacity()));
  std::vector<NodeId> affected;
  for (const NodeId node : changed)
    if (graph.alive(node)) affected.push_back(node);
  sort_unique(affected);
  for (const NodeId node : affected)
    if (node.index >= known)
      colours_.edit(static_cast<size_t>(node.index))[0] = own_colour(graph, node);
  for (int level = 1; level <= kRadius; ++level) {
    std::vector<NodeId> different;
    for (const NodeId node : affected) {
      const uint64_t hash = next_colour(graph, node, level);
      if (hash == colour(node, level)) continue;
      colours_.edit(static_cast<size_t>(node.index))[static_cast<size_t>(level)] = hash;
      different.push_back(node);
    }
    if (level == kRadius) return different;
    for (const NodeId node : different)
      for_each_neighbour(graph, node, [&](NodeId other) { affected.push_back(other); });
    sort_unique(affected);
  }
  return {};
}

}  // namespace reverie
