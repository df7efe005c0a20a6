#include "core/ir/graph.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace reverie {
namespace {

std::shared_ptr<const Attributes> no_attributes() {
  static const auto empty = std::make_shared<const Attributes>();
  return empty;
}

std::string describe(const OpSchema& op, std::span<const TensorType> inputs) {
  std::string text = op.name + "(";
  for (const TensorType& type : inputs)
    text += (text.back() == '(' ? "" : ", ") + (type.known() ? to_string(type) : "-");
  return text + ")";
}

}  // namespace

ValueId Graph::add_input(const std::string& name, TensorType type) {
  for (const NodeId input : inputs_)
    if (input_name(input) == name) throw InputError("graph input '{}' exists twice", name);
  Node node;
  node.op = &input_op();
  node.attributes = std::make_shared<const Attributes>(Attributes{{"name", name}});
  const NodeId id = append_node(std::move(node), {&type, 1});
  inputs_.push_back(id);
  return output(id);
}

ValueId Graph::add_constant(WeightPtr weight) {
  Node node;
  node.op = &constant_op();
  node.attributes = no_attributes();
  const TensorType type = weight->type();
  node.range = range_of(*weight);
  node.weight = std::move(weight);
  node.constant = true;
  return output(append_node(std::move(node), {&type, 1}));
}

NodeId Graph::add_node(const OpSchema& op, std::span<const ValueId> inputs, Attributes attributes) {
  while (!inputs.empty() && !inputs.back().valid()) inputs = inputs.first(inputs.size() - 1);
  std::vector<TensorType> types;
  for (const ValueId input : inputs) types.push_back(input.valid() ? type(input) : TensorType{});
  return with_context(describe(op, types), [&] {
    const int arity = static_cast<int>(inputs.size());
    if (arity < op.min_inputs || arity > op.max_inputs)
      throw InputError("has {} inputs, expected {} to {}", arity, op.min_inputs, op.max_inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].valid() && !types[i].known()) throw InputError("input {} has no known type", i);
    auto resolved = std::make_shared<const Attributes>(op.resolve(std::move(attributes), types));
    const std::vector<TensorType> results = op.infer({types, {}, *resolved});
    return add_node(op, inputs, std::move(resolved), results);
  });
}

NodeId Graph::add_node(const OpSchema& op, std::span<const ValueId> inputs,
                       std::shared_ptr<const Attributes> attributes,
                       std::span<const TensorType> types) {
  Node node;
  node.op = &op;
  node.attributes = std::move(attributes);
  node.inputs.assign(inputs);
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  node.constant = computed_from_constants(node);
  node.range = computed_range(node, types.empty() ? DType::kNone : types[0].dtype);
  return append_node(std::move(node), types);
}

ValueId Graph::add(std::string_view op, std::initializer_list<ValueId> inputs,
                   Attributes attributes) {
  const NodeId node =
      add_node(op_named(op), std::span(inputs.begin(), inputs.size()), std::move(attributes));
  REVERIE_CHECK_EQ(outputs(node).size(), 1u);
  return output(node);
}

void Graph::add_output(const std::string& name, ValueId value) {
  outputs_.push_back({name, value});
  ++values_.edit(at(value)).graph_output_uses;
}

void Graph::set_names(NodeId node, std::shared_ptr<const NodeNames> names) {
  nodes_.edit(at(node)).names = std::move(names);
}

NodeId Graph::append_node(Node node, std::span<const TensorType> types) {
  const NodeId id{static_cast<int32_t>(nodes_.size())};
  for (const ValueId input : node.inputs)
    if (input.valid()) values_.edit(at(input)).users.push_back(id);
  for (size_t i = 0; i < types.size(); ++i) {
    node.outputs.push_back({static_cast<int32_t>(values_.size())});
    Value value;
    value.type = std::make_shared<const TensorType>(types[i]);
    value.producer = id;
    value.output_index = static_cast<int32_t>(i);
    values_.push_back(std::move(value));
  }
  nodes_.push_back(std::move(node));
  ++live_nodes_;
  return id;
}

bool Graph::computed_from_constants(const Node& node) const {
  if (node.op == &constant_op()) return true;
  if (node.inputs.empty() || node.op->keeps_constants) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return !input.valid() || is_constant(input); });
}

ValueRange Graph::computed_range(const Node& node, DType dtype) const {
  if (node.op == &input_op()) return ValueRange::kFinite;
  if (node.op == &constant_op()) return range_of(*node.weight);
  SmallList<ValueRange, 4> ranges;
  for (const ValueId input : node.inputs)
    ranges.push_back(input.valid() ? range(input) : ValueRange::kPositive);
  const bool two = node.inputs.size() >= 2 && node.inputs[1].valid();
  return range_of({.op = *node.op,
                   .attributes = *node.attributes,
                   .inputs = ranges,
                   .floating = is_floating(dtype),
                   .square = two && node.inputs[0] == node.inputs[1],
                   .second = two ? weight(producer(node.inputs[1])).get() : nullptr});
}

void Graph::update_what_follows(NodeId start, std::vector<NodeId>* touched) {
  std::vector<NodeId> pending = {start};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    const Node& node = nodes_[at(id)];
    const bool constant = computed_from_constants(node);
    const DType dtype = node.outputs.empty() ? DType::kNone : type(node.outputs[0]).dtype;
    const ValueRange range_now = computed_range(node, dtype);
    if (constant == node.constant && range_now == node.range) continue;
    const bool moves_range = range_now != node.range;
    if (moves_range && touched != nullptr) touched->push_back(id);
    Node& changed = nodes_.edit(at(id));
    changed.constant = constant;
    changed.range = range_now;
    for (const ValueId output : outputs(id)) {
      pending.insert(pending.end(), users(output).begin(), users(output).end());
      if (moves_range && touched != nullptr)
        touched->insert(touched->end(), users(output).begin(), users(output).end());
    }
  }
}

void Graph::replace_all_uses(ValueId from, ValueId to, std::vector<NodeId>* touched) {
  REVERIE_CHECK(from != to);
  REVERIE_CHECK(type(from) == type(to), "{} against {}", to_string(type(from)),
                to_string(type(to)));
  values_.edit(at(from));  // writing one must not move the other
  Value& new_value = values_.edit(at(to));
  Value& old_value = values_.edit(at(from));
  const SmallList<NodeId, 4> moved = std::exchange(old_value.users, {});
  for (const NodeId user : moved) {
    auto& inputs = nodes_.edit(at(user)).inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
    new_value.users.push_back(user);
  }
  if (old_value.graph_output_uses > 0) {
    for (GraphOutput& output : outputs_)
      if (output.value == from) output.value = to;
    new_value.graph_output_uses += std::exchange(old_value.graph_output_uses, 0);
  }
  for (const NodeId user : moved) update_what_follows(user, touched);
  if (touched != nullptr) touched->insert(touched->end(), moved.begin(), moved.end());
}

void Graph::remove_user(ValueId value, NodeId user) {
  REVERIE_CHECK(values_.edit(at(value)).users.remove_unordered(user));
}

void Graph::erase_if_dead(NodeId start, std::vector<NodeId>* removed) {
  std::vector<NodeId> pending = {start};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    const Node& node = nodes_[at(id)];
    if (node.op == nullptr || node.op == &input_op()) continue;
    const auto used = [&](ValueId value) { return use_count(value) > 0; };
    if (std::any_of(node.outputs.begin(), node.outputs.end(), used)) continue;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      remove_user(input, id);
      pending.push_back(producer(input));
    }
    nodes_.edit(at(id)) = Node{};
    --live_nodes_;
    if (removed != nullptr) removed->push_back(id);
  }
}

void Graph::erase_dead() {
  for (int i = node_capacity() - 1; i >= 0; --i)
    if (alive({i})) erase_if_dead({i});
}

Graph Graph::compacted() const {
  Graph result;
  std::vector<ValueId> renamed(values_.size());
  const std::vector<NodeId> order = topological_order();
  const auto copy = [&](NodeId id) {
    const Node& node = nodes_[at(id)];
    Node fresh;
    fresh.op = node.op;
    fresh.attributes = node.attributes;
    fresh.weight = node.weight;
    fresh.names = node.names;
    fresh.constant = node.constant;
    fresh.range = node.range;
    for (const ValueId input : node.inputs)
      fresh.inputs.push_back(input.valid() ? renamed[input.index] : ValueId{});
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) types.push_back(type(output));
    const NodeId added = result.append_node(std::move(fresh), types);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      renamed[node.outputs[i].index] = result.output(added, static_cast<int>(i));
    if (node.op == &input_op()) result.inputs_.push_back(added);
  };
  for (const NodeId input : inputs_) copy(input);
  for (const NodeId id : order)
    if (&op(id) != &input_op()) copy(id);
  for (const GraphOutput& output : outputs_)
    result.add_output(output.name, renamed[output.value.index]);
  return result;
}

bool Graph::is_output(ValueId value) const { return values_[at(value)].graph_output_uses > 0; }

int Graph::use_count(ValueId value) const {
  const Value& v = values_[at(value)];
  return static_cast<int>(v.users.size()) + v.graph_output_uses;
}

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> result;
  result.reserve(static_cast<size_t>(live_nodes_));
  for (int32_t i = 0; i < node_capacity(); ++i)
    if (alive({i})) result.push_back({i});
  return result;
}

std::vector<NodeId> Graph::topological_order() const {
  std::vector<ValueId> roots;
  for (const GraphOutput& output : outputs_) roots.push_back(output.value);
  for (const NodeId input : inputs_) roots.push_back(output(input));
  return topological_order(roots);
}

std::vector<NodeId> Graph::topological_order(std::span<const ValueId> roots) const {
  std::vector<NodeId> order;
  order.reserve(static_cast<size_t>(live_nodes_));
  std::vector<uint8_t> seen(nodes_.size(), 0);
  std::vector<std::pair<NodeId, size_t>> stack;  // node, next input to visit
  const auto enter = [&](ValueId value) {
    if (value.valid() && !std::exchange(seen[producer(value).index], 1))
      stack.emplace_back(producer(value), 0);
  };
  for (const ValueId root : roots) {
    enter(root);
    while (!stack.empty()) {
      const NodeId id = stack.back().first;
      const auto inputs = this->inputs(id);
      if (stack.back().second < inputs.size()) {
        enter(inputs[stack.back().second++]);
      } else {
        order.push_back(id);
        stack.pop_back();
      }
    }
  }
  return order;
}

void Graph::validate() const {
  std::vector<int> position(nodes_.size(), -1);
  const std::vector<NodeId> order = topological_order();
  for (size_t i = 0; i < order.size(); ++i) position[order[i].index] = static_cast<int>(i);
  std::vector<int> uses(values_.size(), 0);
  for (const NodeId id : nodes()) {
    const Node& node = nodes_[at(id)];
    const std::string where = fmt::format("node {} ({})", id.index, node.op->name);
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      REVERIE_CHECK(input.index < value_capacity() && alive(producer(input)),
                    "{} uses a value of an erased node", where);
      REVERIE_CHECK(position[id.index] < 0 || position[producer(input).index] < position[id.index],
                    "{} is part of a cycle", where);
      const auto users_of = users(input);
      REVERIE_CHECK(std::find(users_of.begin(), users_of.end(), id) != users_of.end(),
                    "{} is missing from the users of its input", where);
      ++uses[input.index];
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      REVERIE_CHECK(
          producer(node.outputs[i]) == id && output_index(node.outputs[i]) == static_cast<int>(i),
          "{} and its output {} disagree", where, i);
    REVERIE_CHECK(node.constant == computed_from_constants(node), "{}: constancy is stale", where);
    const DType dtype = node.outputs.empty() ? DType::kNone : type(node.outputs[0]).dtype;
    REVERIE_CHECK(node.range == computed_range(node, dtype), "{}: its range is stale", where);
    if (node.op != &input_op() && node.op != &constant_op() && node.op != &opaque_op())
      REVERIE_CHECK(
          node.op->infer({input_types(*this, id), {}, *node.attributes}) == output_types(*this, id),
          "{}: output types are not what inference gives", where);
  }
  for (const NodeId id : nodes())
    for (const ValueId value : outputs(id))
      REVERIE_CHECK_EQ(static_cast<int>(users(value).size()), uses[value.index]);
  std::set<std::string> names;
  for (const GraphOutput& output : outputs_) {
    REVERIE_CHECK(alive(producer(output.value)), "output '{}' dangles", output.name);
    REVERIE_CHECK(names.insert(output.name).second, "output '{}' stands twice", output.name);
  }
}

int64_t Graph::weight_bytes() const {
  int64_t total = 0;
  for (const NodeId id : nodes()) {
    if (!is_constant(id)) continue;
    for (const ValueId value : outputs(id)) {
      const auto users_of = users(value);
      const bool stored =
          is_output(value) ||
          std::any_of(users_of.begin(), users_of.end(), [&](NodeId u) { return !is_constant(u); });
      if (stored) total += stored_bytes(value);
    }
  }
  return total;
}

int64_t Graph::stored_bytes(ValueId value) const {
  const WeightPtr& stored = weight(producer(value));
  return stored != nullptr ? stored->least_bytes() : type(value).bytes();
}

std::string described(const Graph& graph, NodeId node) {
  constexpr size_t kLongest = 120;
  const OpSchema& op = graph.op(node);
  std::string text = &op == &opaque_op() ? graph.attributes(node).text("op") : op.name;
  const std::shared_ptr<const NodeNames>& names = graph.names(node);
  if (names == nullptr || names->node.empty()) return text;
  text.append(" at ").append(names->node);
  if (text.size() <= kLongest) return text;
  text.resize(kLongest);
  return text.append("...");
}

std::vector<TensorType> input_types(const Graph& graph, NodeId node) {
  std::vector<TensorType> types;
  for (const ValueId input : graph.inputs(node))
    types.push_back(input.valid() ? graph.type(input) : TensorType{});
  return types;
}

bool has_opaque_node(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [&](NodeId node) { return &graph.op(node) == &opaque_op(); });
}

std::vector<TensorType> output_types(const Graph& graph, NodeId node) {
  std::vector<TensorType> types;
  for (const ValueId output : graph.outputs(node)) types.push_back(graph.type(output));
  return types;
}

bool is_step(const Graph& graph, NodeId node) {
  const OpSchema& op = graph.op(node);
  return op.steps &&
         op.steps({input_types(graph, node), output_types(graph, node), graph.attributes(node)});
}

int64_t flops(const Graph& graph, NodeId node) {
  const OpSchema& op = graph.op(node);
  if (!op.flops) return 0;
  return op.flops({input_types(graph, node), output_types(graph, node), graph.attributes(node)});
}

int64_t traffic_bytes(const Graph& graph, NodeId node) {
  const OpSchema& op = graph.op(node);
  const auto inputs = input_types(graph, node);
  const auto outputs = output_types(graph, node);
  if (op.bytes) return op.bytes({inputs, outputs, graph.attributes(node)});
  int64_t total = 0;
  for (const TensorType& type : inputs) total += type.bytes();
  for (const TensorType& type : outputs) total += type.bytes();
  return total;
}

}  // namespace reverie
