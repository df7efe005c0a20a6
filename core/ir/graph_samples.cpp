#include <algorithm>
#include <utility>

#include "core/ir/graph.h"

namespace reverie {
namespace {

/// Whether only extents, attributes and the values of constants tell the graphs apart.
bool same_structure(const Graph& a, const Graph& b) {
  if (a.node_capacity() != b.node_capacity() || a.outputs().size() != b.outputs().size())
    return false;
  const auto same_type = [](const TensorType& x, const TensorType& y) {
    return x.dtype == y.dtype && x.rank() == y.rank();
  };
  for (const NodeId node : a.nodes()) {
    if (!b.alive(node) || &a.op(node) != &b.op(node)) return false;
    const auto of_a = a.outputs(node), of_b = b.outputs(node);
    if (!std::ranges::equal(a.inputs(node), b.inputs(node)) || !std::ranges::equal(of_a, of_b))
      return false;
    for (const ValueId output : of_a)
      if (!same_type(a.type(output), b.type(output))) return false;
  }
  return std::ranges::equal(a.outputs(), b.outputs(),
                            [](const GraphOutput& x, const GraphOutput& y) {
                              return x.name == y.name && x.value == y.value;
                            });
}

WeightPtr weight_of_samples(std::span<const Graph> samples, NodeId node) {
  std::vector<WeightPtr> weights;
  for (const Graph& graph : samples) weights.push_back(graph.weight(node));
  const auto same = [&](const WeightPtr& weight) {
    return weight->identity() == weights[0]->identity();
  };
  return std::ranges::all_of(weights, same) ? weights[0] : Weight::of_samples(std::move(weights));
}

}  // namespace

std::optional<Graph> Graph::of_samples(std::span<const Graph> samples) {
  const Graph& first = samples[0];
  for (const Graph& other : samples.subspan(1))
    if (!same_structure(first, other)) return std::nullopt;
  Graph result = first;
  for (const NodeId id : first.topological_order()) {
    std::vector<Attributes> attributes;
    for (const Graph& graph : samples) attributes.push_back(graph.attributes(id));
    for (const ValueId output : first.outputs(id)) {
      std::vector<TensorType> types;
      for (const Graph& graph : samples) types.push_back(graph.type(output));
      result.values_.edit(at(output)).type =
          std::make_shared<const TensorType>(type_of_samples(types));
    }
    Node& node = result.nodes_.edit(at(id));
    node.attributes = std::make_shared<const Attributes>(Attributes::of_samples(attributes));
    if (node.weight != nullptr) node.weight = weight_of_samples(samples, id);
  }
  result.compute_ranges();
  return result;
}

size_t Graph::samples() const {
  size_t samples = 1;
  for (const NodeId id : nodes()) {
    samples = std::max(samples, attributes(id).samples());
    if (weight(id) != nullptr) samples = std::max(samples, weight(id)->samples());
    for (const ValueId output : outputs(id)) samples = std::max(samples, type(output).samples());
  }
  return samples;
}

Graph Graph::sample(size_t index) const {
  Graph result = *this;
  for (const NodeId id : nodes()) {
    for (const ValueId output : outputs(id))
      if (type(output).varies())
        result.values_.edit(at(output)).type =
            std::make_shared<const TensorType>(type(output).at(index));
    if (attributes(id).varies())
      result.nodes_.edit(at(id)).attributes =
          std::make_shared<const Attributes>(attributes(id).at(index));
    if (weight(id) != nullptr && weight(id)->varies())
      result.nodes_.edit(at(id)).weight = weight(id)->at(index);
  }
  result.compute_ranges();
  return result;
}

void Graph::compute_ranges() {
  for (const NodeId id : topological_order()) {
    const Node& node = nodes_[at(id)];
    const DType dtype = node.outputs.empty() ? DType::kNone : type(node.outputs[0]).dtype;
    const ValueRange range = computed_range(node, dtype);
    if (range != node.range) nodes_.edit(at(id)).range = range;
  }
}

}  // namespace reverie
