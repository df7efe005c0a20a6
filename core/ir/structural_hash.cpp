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
    const uint64_t from = input.valid()
                              ? hash_combine(this->level(graph.producer(input), level - 1),
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
  sort_unique(affected);
  for (const NodeId node : affected) compute(graph, node, 0);
  for (int level = 1; level <= kRadius; ++level) {
    for (size_t i = 0, n = affected.size(); i < n; ++i)
      for (const ValueId output : graph.outputs(affected[i]))
        affected.insert(affected.end(), graph.users(output).begin(), graph.users(output).end());
    sort_unique(affected);
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

namespace {

/// Pairs nodes of two graphs from the outputs upwards: what feeds equal places has to be a pair.
class Pairing {
 public:
  Pairing(const Graph& a, const Graph& b)
      : a_(a),
        b_(b),
        image_(static_cast<size_t>(a.node_capacity())),
        source_(static_cast<size_t>(b.node_capacity())) {}

  bool outputs() {
    for (size_t i = 0; i < a_.outputs().size(); ++i)
      if (a_.outputs()[i].name != b_.outputs()[i].name ||
          !values(a_.outputs()[i].value, b_.outputs()[i].value))
        return false;
    return all_upwards();
  }

  /// Graph inputs that no output reads.
  bool other_inputs() {
    std::vector<NodeId> left_a, left_b;
    for (const NodeId input : a_.inputs())
      if (!image_[at(input)].valid()) left_a.push_back(input);
    for (const NodeId input : b_.inputs())
      if (!source_[at(input)].valid()) left_b.push_back(input);
    return std::equal(left_a.begin(), left_a.end(), left_b.begin(), left_b.end(),
                      [&](NodeId x, NodeId y) { return same(x, y); });
  }

 private:
  static size_t at(NodeId node) { return static_cast<size_t>(node.index); }

  bool values(ValueId x, ValueId y) {
    if (!x.valid() || !y.valid()) return x.valid() == y.valid();
    if (a_.output_index(x) != b_.output_index(y)) return false;
    const NodeId from = a_.producer(x);
    const NodeId to = b_.producer(y);
    if (image_[at(from)].valid() || source_[at(to)].valid())
      return image_[at(from)] == to && source_[at(to)] == from;
    image_[at(from)] = to;
    source_[at(to)] = from;
    open_.push_back(from);
    return true;
  }

  bool all_upwards() {
    while (!open_.empty()) {
      const NodeId x = open_.back();
      open_.pop_back();
      const NodeId y = image_[at(x)];
      const auto from = a_.inputs(x);
      const auto to = b_.inputs(y);
      if (!same(x, y) || !std::equal(from.begin(), from.end(), to.begin(), to.end(),
                                     [&](ValueId u, ValueId v) { return values(u, v); }))
        return false;
    }
    return true;
  }

  /// Apart from what they read.
  bool same(NodeId x, NodeId y) const {
    const auto outputs_x = a_.outputs(x);
    const auto outputs_y = b_.outputs(y);
    return &a_.op(x) == &b_.op(y) &&
           (a_.shared_attributes(x) == b_.shared_attributes(y) ||
            a_.attributes(x) == b_.attributes(y)) &&
           (!a_.weight(x) || a_.weight(x)->identity() == b_.weight(y)->identity()) &&
           std::equal(outputs_x.begin(), outputs_x.end(), outputs_y.begin(), outputs_y.end(),
                      [&](ValueId u, ValueId v) { return a_.type(u) == b_.type(v); });
  }

  const Graph& a_;
  const Graph& b_;
  std::vector<NodeId> image_;   // by node of a
  std::vector<NodeId> source_;  // by node of b
  std::vector<NodeId> open_;    // of a: paired, not yet compared
};

}  // namespace

bool isomorphic(const Graph& a, const Graph& b) {
  if (a.node_count() != b.node_count() || a.outputs().size() != b.outputs().size() ||
      a.inputs().size() != b.inputs().size())
    return false;
  Pairing pairing(a, b);
  return pairing.outputs() && pairing.other_inputs();
}

}  // namespace reverie
