#pragma once

#include <cstdint>

#include "core/base/hash.h"
#include "core/ir/graph.h"
#include "core/rules/known_constant.h"
#include "core/rules/matcher.h"

namespace reverie {

/// What decides the replacement of a match, as numbers: matches of a rule with equal keys have one
/// Instance. Conditions on uses aside, conditions and types read nothing else.

inline uint64_t node_signature(const Graph& graph, NodeId node) {
  return hash_combine(static_cast<uint64_t>(graph.op(node).id), graph.attributes(node).hash());
}

inline uint64_t value_signature(const Graph& graph, ValueId value) {
  const NodeId producer = graph.producer(value);
  const uint64_t hash = hash_combine(hash_of(graph.type(value)), graph.is_constant(producer));
  if (graph.is_constant(producer)) {
    const uint64_t content = known_content(graph, value);
    return content != 0 ? hash_combine(hash, content) : hash;
  }
  return graph.range(producer) == ValueRange::kUnknown ? mix64(hash) : hash;
}

/// `of_node(NodeId)` and `of_value(ValueId)` give the signatures above, remembered where that pays.
template <class NodeSignature, class ValueSignature>
uint64_t instance_key(int rule, const RulePattern& pattern, const Embedding& embedding,
                      const NodeSignature& of_node, const ValueSignature& of_value) {
  uint64_t key = mix64(static_cast<uint64_t>(rule));
  for (const NodeId node : embedding.nodes()) key = hash_combine(key, of_node(node));
  for (int i = 0; i < static_cast<int>(pattern.values.size()); ++i) {
    const auto tensors = embedding.values(i);
    if (pattern.values[static_cast<size_t>(i)].sequence) key = hash_combine(key, tensors.size());
    for (const ValueId value : tensors)
      key = hash_combine(key, value.valid() ? of_value(value) : 0);
  }
  return key;
}

}  // namespace reverie
