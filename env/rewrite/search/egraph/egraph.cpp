#include "env/rewrite/search/egraph/egraph.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/sort_unique.h"

namespace reverie {

namespace {

std::vector<ValueId> in_order(const OpSchema& op, std::vector<ValueId> inputs) {
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  if (op.commutative && inputs.size() == 2) std::sort(inputs.begin(), inputs.end());
  return inputs;
}

}  // namespace

size_t EGraph::Key::operator()(const Content& content) const {
  uint64_t hash = hash_combine(static_cast<uint64_t>(content.op->id), content.attributes->hash());
  if (content.weight != nullptr) hash = hash_combine(hash, content.weight->identity());
  for (const ValueId input : content.inputs)
    hash = hash_combine(hash, static_cast<uint64_t>(input.index));
  return hash;
}

bool EGraph::Key::operator()(const Content& a, const Content& b) const {
  if (a.op != b.op || a.op == &opaque_op() || a.inputs != b.inputs) return false;
  if (a.weight != nullptr)
    return a.weight->identity() == b.weight->identity() && a.weight->type() == b.weight->type();
  return *a.attributes == *b.attributes;
}

EGraph::Content EGraph::content(NodeId node) const {
  const OpSchema& op = graph_.op(node);
  const auto inputs = graph_.inputs(node);
  return {&op, &graph_.attributes(node), graph_.weight(node).get(),
          in_order(op, {inputs.begin(), inputs.end()})};
}

EGraph::EGraph(const Graph& start, CostModel& cost_model) : nodes_(64, Key{this}, Key{this}) {
  for (const NodeId input : start.inputs()) {
    const ValueId value =
        graph_.add_input(start.input_name(input), start.type(start.output(input)));
    settle(graph_.producer(value), {});
  }
  const std::vector<ValueId> names = add_nodes(start, cost_model);
  for (const GraphOutput& output : start.outputs())
    graph_.add_output(output.name, names[static_cast<size_t>(output.value.index)]);
}

void EGraph::add_equal(const Graph& graph, CostModel& cost_model) {
  const std::vector<ValueId> names = add_nodes(graph, cost_model);
  REVERIE_CHECK_EQ(graph.outputs().size(), graph_.outputs().size());
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    merge(graph_.outputs()[i].value, names[static_cast<size_t>(graph.outputs()[i].value.index)]);
  rebuild();
}

/// The nodes of a graph with the same inputs; by value of it, what the value is here.
std::vector<ValueId> EGraph::add_nodes(const Graph& from, CostModel& cost_model) {
  std::vector<ValueId> names(static_cast<size_t>(from.value_capacity()));
  const auto keep = [&](NodeId node, NodeId here) {
    for (size_t i = 0; i < from.outputs(node).size(); ++i)
      names[static_cast<size_t>(from.outputs(node)[i].index)] = outputs(here)[i];
  };
  REVERIE_CHECK_EQ(from.inputs().size(), graph_.inputs().size());
  for (size_t i = 0; i < from.inputs().size(); ++i) keep(from.inputs()[i], graph_.inputs()[i]);
  for (const NodeId node : from.topological_order()) {
    if (&from.op(node) == &input_op()) continue;
    if (const WeightPtr& weight = from.weight(node)) {
      keep(node, add_constant(weight));
      continue;
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : from.inputs(node))
      inputs.push_back(input.valid() ? names[static_cast<size_t>(input.index)] : input);
    keep(node, add(from.op(node), inputs, from.shared_attributes(node), output_types(from, node),
                   node_cost(cost_model, from, node)));
  }
  return names;
}

NodeId EGraph::add(const OpSchema& op, std::span<const ValueId> inputs,
                   const std::shared_ptr<const Attributes>& attributes,
                   std::span<const TensorType> types, const Cost& cost) {
  std::vector<ValueId> names;
  for (const ValueId input : inputs) names.push_back(input.valid() ? find(input) : input);
  const auto at = nodes_.find(Content{&op, attributes.get(), nullptr, in_order(op, names)});
  if (at != nodes_.end()) return *at;
  const NodeId node = graph_.add_node(op, names, attributes, types);
  settle(node, cost);
  return node;
}

NodeId EGraph::add_constant(const WeightPtr& weight) {
  static const Attributes kNone;
  const auto at = nodes_.find(Content{&constant_op(), &kNone, weight.get(), {}});
  if (at != nodes_.end()) return *at;
  const NodeId node = graph_.producer(graph_.add_constant(weight));
  settle(node, {});
  return node;
}

void EGraph::settle(NodeId node, const Cost& cost) {
  const auto values = graph_.outputs(node);
  parents_.insert(parents_.end(), values.begin(), values.end());
  outputs_.emplace_back(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) producers_.push_back({node});
  costs_.push_back(cost);
  twins_.push_back(node);
  alive_.push_back(1);
  known_.push_back(1);
  nodes_.insert(node);
  ++node_count_;
  class_count_ += static_cast<int64_t>(values.size());
  changed_.push_back(node);
}

ValueId EGraph::find(ValueId value) const {
  while (parents_[static_cast<size_t>(value.index)] != value)
    value = parents_[static_cast<size_t>(value.index)];
  return value;
}

NodeId EGraph::find(NodeId node) const {
  while (twins_[static_cast<size_t>(node.index)] != node)
    node = twins_[static_cast<size_t>(node.index)];
  return node;
}

void EGraph::forget(NodeId node) {
  if (std::exchange(known_[static_cast<size_t>(node.index)], 0)) nodes_.erase(node);
}

bool EGraph::merge(ValueId a, ValueId b) {
  ValueId name = find(a);
  ValueId gone = find(b);
  if (name == gone) return false;
  REVERIE_CHECK_EQ(graph_.is_constant(name), graph_.is_constant(gone));
  if (graph_.users(name).size() < graph_.users(gone).size()) std::swap(name, gone);
  for (const NodeId user : graph_.users(gone)) {
    if (!alive(user)) continue;
    forget(user);
    stale_.push_back(user);
    changed_.push_back(user);
  }
  graph_.replace_all_uses(gone, name);
  parents_[static_cast<size_t>(gone.index)] = name;
  auto& members = producers_[static_cast<size_t>(name.index)];
  for (const NodeId node : std::exchange(producers_[static_cast<size_t>(gone.index)], {})) {
    auto& outputs = outputs_[static_cast<size_t>(node.index)];
    std::replace(outputs.begin(), outputs.end(), gone, name);
    if (std::find(members.begin(), members.end(), node) == members.end()) members.push_back(node);
    stale_.push_back(node);
    changed_.push_back(node);
  }
  --class_count_;
  return true;
}

bool EGraph::reads_itself(NodeId node) const {
  const auto inputs = graph_.inputs(node);
  if (outputs(node).size() != 1) return false;  // the others can be computed without it
  return std::find(inputs.begin(), inputs.end(), outputs(node)[0]) != inputs.end();
}

void EGraph::leave(NodeId node) {
  forget(node);
  alive_[static_cast<size_t>(node.index)] = 0;
  --node_count_;
  for (const ValueId name : outputs(node)) {
    auto& members = producers_[static_cast<size_t>(name.index)];
    members.erase(std::remove(members.begin(), members.end(), node), members.end());
  }
}

void EGraph::absorb(NodeId twin, NodeId node) {
  leave(twin);
  twins_[static_cast<size_t>(twin.index)] = node;
  const std::vector<ValueId> from = outputs_[static_cast<size_t>(twin.index)];
  for (size_t i = 0; i < from.size(); ++i) merge(outputs(node)[i], from[i]);
}

void EGraph::rebuild() {
  while (!stale_.empty()) {
    const NodeId node = stale_.back();
    stale_.pop_back();
    if (!alive(node)) continue;
    if (reads_itself(node)) {
      leave(node);
      continue;
    }
    if (known_[static_cast<size_t>(node.index)]) continue;
    const auto [at, fresh] = nodes_.insert(node);
    if (fresh)
      known_[static_cast<size_t>(node.index)] = 1;
    else
      absorb(node, *at);
  }
}

std::vector<NodeId> EGraph::take_changed() {
  std::vector<NodeId> result = std::exchange(changed_, {});
  sort_unique(result);
  std::erase_if(result, [&](NodeId node) { return !alive(node); });
  return result;
}

}  // namespace reverie
