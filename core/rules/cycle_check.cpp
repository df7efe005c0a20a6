#include "core/rules/cycle_check.h"

#include <unordered_set>
#include <vector>

namespace reverie {
namespace {

bool reaches(const Graph& graph, const NodeOrder& order, ValueId from, NodeId to) {
  const uint64_t floor = order.position(graph.producer(from));
  std::vector<NodeId> pending = {to};
  std::unordered_set<NodeId> seen;
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (order.position(node) <= floor || !seen.insert(node).second) continue;
    for (const ValueId input : graph.inputs(node)) {
      if (input == from) return true;
      if (input.valid()) pending.push_back(graph.producer(input));
    }
  }
  return false;
}

}  // namespace

bool makes_cycle(const Graph& graph, const NodeOrder& order, const MatchRule& rule,
                 const StoredMatch& match) {
  const Binding& binding = *match.binding;
  for (const int value : rule.risky_values)
    for (int32_t at = binding.offsets[static_cast<size_t>(value)];
         at < binding.offsets[static_cast<size_t>(value) + 1]; ++at) {
      const ValueId leaf = binding.values[static_cast<size_t>(at)];
      if (!leaf.valid()) continue;
      for (const auto& output : match.instance->outputs) {
        const ValueId replaced = binding.values[static_cast<size_t>(output.first)];
        if (leaf == replaced || reaches(graph, order, replaced, graph.producer(leaf))) return true;
      }
    }
  return false;
}

}  // namespace reverie
