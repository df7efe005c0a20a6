#include "core/rules/known_constant.h"

#include "core/base/hash.h"
#include "core/exec/reference/reference.h"

namespace reverie {
namespace {

/// The hash of a constant; 0 where a weight is not known, or more than `steps` nodes lead to it.
uint64_t hash_of_constant(const Graph& graph, ValueId value, int& steps, bool known_only) {
  const NodeId node = graph.producer(value);
  if (const WeightPtr& weight = graph.weight(node))
    return !known_only || weight->is_small() ? weight->identity() | 1 : 0;
  if (--steps < 0) return 0;
  uint64_t hash =
      hash_combine(static_cast<uint64_t>(graph.op(node).id), graph.attributes(node).hash());
  for (const ValueId input : graph.inputs(node)) {
    if (!input.valid()) continue;
    const uint64_t part = hash_of_constant(graph, input, steps, known_only);
    if (part == 0) return 0;
    hash = hash_combine(hash, part);
  }
  return hash_combine(hash, static_cast<uint64_t>(graph.output_index(value))) | 1;
}

}  // namespace

uint64_t known_content(const Graph& graph, ValueId value) {
  constexpr int kMostSteps = 16;
  const NodeId node = graph.producer(value);
  if (!graph.is_constant(node)) return 0;
  if (const WeightPtr& weight = graph.weight(node))
    return weight->is_small() ? weight->identity() : 0;
  if (graph.type(value).elements() > Weight::kSmallWeight) return 0;
  int steps = kMostSteps;
  return hash_of_constant(graph, value, steps, true);
}

std::optional<Tensor> known_constant(const Graph& graph, ValueId value) {
  if (graph.type(value).elements() > Weight::kSmallWeight || known_content(graph, value) == 0)
    return {};
  return constant_in_doubles(graph, value);
}

Tensor constant_in_doubles(const Graph& graph, ValueId value) {
  const Tensor folded = fold_exactly(graph, value);  // at a step: of the declared type
  return is_floating(folded.type().dtype) ? folded.cast(DType::kFloat64) : folded;
}

uint64_t constant_identity(const Graph& graph, ValueId value) {
  int steps = 1 << 12;
  return hash_of_constant(graph, value, steps, false);
}

}  // namespace reverie
