#include "core/ir/structural_hash.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"
#include "core/base/sort_unique.h"

namespace reverie {

uint64_t local_hash(const Graph& graph, NodeId node) {
  uint64_t hash = hash_combine(hash_string(graph.op(node).name), graph.attributes(node).hash());
  if (const WeightPtr& weight = graph.weight(node)) hash = hash_combine(hash, weight->identity());
  for (const ValueId output : graph.outputs(node))
    hash = hash_combine(hash, hash_of(graph.type(output)));
  return hash;
}

StructuralHash::StructuralHash(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  update(graph, nodes, {});
}

uint64_t StructuralHash::value() const { return value_; }

uint64_t StructuralHash::of(NodeId node) const { return level(node, kRadius); }

void StructuralHash::resize(const Graph& graph) {
  nodes_.extend(static_cast<size_t>(graph.node_capacity()));
}

void StructuralHash::compute(const Graph& graph, NodeId node, int level) {
  Levels& own = nodes_.edit(static_cast<size_t>(node.index));
  if (level == 0) {
    own.level[0] = local_hash(graph, node);
    return;
  }
  uint64_t hash = own.level[0];
  for (const ValueId input : graph.inputs(node)) {
    const uint64_t from =
        input.valid() ? hash_combine(this->level(graph.producer(input), level - 1),
                                     static_cast<uint64_t>(graph.output_index(input)))
                      : 0;
    hash = hash_combine(hash, from);
  }
  own.level[level] = hash;
}

void StructuralHash::update(const Graph& graph, std::span<const NodeId> changed,
                            std::span<const NodeId> removed) {
  resize(graph);
  const auto discount = [&](NodeId node) {
    if (std::exchange(nodes_.edit(static_cast<size_t>(node.index)).counted, false))
      sum_ -= mix64(of(node));
  };
  for (const NodeId node : removed) discount(node);

  // Level by level: level l of a node hears of changes up to l steps upstream.
  std::vector<NodeId> affected;
  for (const NodeId node : changed)
    if (graph.alive(node)) affected.push_back(node);
  const auto make_unique = [&] {
    sort_unique(affected);
  };
  make_unique();
  for (const NodeId node : affected) compute(graph, node, 0);
  for (int level = 1; level <= kRadius; ++level) {
    for (size_t i = 0, n = affected.size(); i < n; ++i)
      for (const ValueId output : graph.outputs(affected[i]))
        affected.insert(affected.end(), graph.users(output).begin(), graph.users(output).end());
    make_unique();
    if (level == kRadius) std::for_each(affected.begin(), affected.end(), discount);
    for (const NodeId node : affected) compute(graph, node, level);
  }
  for (const NodeId node : affected) {
    nodes_.edit(static_cast<size_t>(node.index)).counted = true;
    sum_ += mix64(of(node));
  }

  outputs_.clear();
  output_indices_.clear();
  for (const GraphOutput& output : graph.outputs()) {
    outputs_.push_back(of(graph.producer(output.value)));
    output_indices_.push_back(graph.output_index(output.value));
  }
  value_ = combine(sum_, graph, outputs_, output_indices_);
}

uint64_t StructuralHash::combine(uint64_t sum, const Graph& graph,
                                 std::span<const uint64_t> producers,
                                 std::span<const int> output_indices) {
  uint64_t hash = producers.size();
  for (size_t i = 0; i < producers.size(); ++i) {
    hash = hash_combine(hash, hash_combine(hash_string(graph.outputs()[i].name), producers[i]));
    hash = hash_combine(hash, static_cast<uint64_t>(output_indices[i]));
  }
  return hash_combine(sum, hash);
}

bool isomorphic(const Graph& a, const Graph& b) {
  if (a.node_count() != b.node_count() || a.outputs().size() != b.outputs().size() ||
      a.inputs().size() != b.inputs().size())
    return false;
  const std::vector<NodeId> order_a = a.topological_order();
  const std::vector<NodeId> order_b = b.topological_order();
  if (order_a.size() != order_b.size()) return false;
  std::vector<NodeId> image(static_cast<size_t>(a.node_capacity()));
  const auto same_value = [&](ValueId x, ValueId y) {
    if (x.valid() != y.valid()) return false;
    return !x.valid() || (image[a.producer(x).index] == b.producer(y) &&
                          a.output_index(x) == b.output_index(y));
  };
  // The depth-first order from the outputs is a function of the structure, so that equal graphs
  // list equal nodes at equal positions.
  for (size_t i = 0; i < order_a.size(); ++i) {
    const NodeId x = order_a[i];
    const NodeId y = order_b[i];
    const auto inputs_x = a.inputs(x);
    const auto inputs_y = b.inputs(y);
    if (&a.op(x) != &b.op(y) || !(a.attributes(x) == b.attributes(y)) ||
        (a.weight(x) && a.weight(x)->identity() != b.weight(y)->identity()) ||
        output_types(a, x) != output_types(b, y) ||
        !std::equal(inputs_x.begin(), inputs_x.end(), inputs_y.begin(), inputs_y.end(), same_value))
      return false;
    image[x.index] = y;
  }
  for (size_t i = 0; i < a.outputs().size(); ++i)
    if (a.outputs()[i].name != b.outputs()[i].name ||
        !same_value(a.outputs()[i].value, b.outputs()[i].value))
      return false;
  return true;
}

}  // namespace reverie
