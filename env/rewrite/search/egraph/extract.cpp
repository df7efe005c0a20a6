#include "env/rewrite/search/egraph/extract.h"

#include "core/base/error.h"
#include "core/base/sort_unique.h"

namespace reverie {
namespace {

/// Copies chosen nodes of an e-graph into a graph.
class Builder {
 public:
  explicit Builder(const EGraph& egraph)
      : egraph_(egraph), made_(static_cast<size_t>(egraph.graph().value_capacity())) {}

  void add_inputs() {
    const Graph& from = egraph_.graph();
    for (const NodeId input : from.inputs())
      made_[static_cast<size_t>(egraph_.outputs(input)[0].index)] =
          graph_.add_input(from.input_name(input), from.type(from.output(input)));
  }

  /// `provided`: by output, whether the node was chosen for it.
  void add(NodeId node, const std::vector<bool>& provided) {
    const Graph& from = egraph_.graph();
    if (&from.op(node) == &input_op()) return;
    std::vector<ValueId> inputs;
    for (const ValueId input : from.inputs(node))
      inputs.push_back(input.valid() ? value(input) : input);
    const NodeId made = graph_.add_node(from.op(node), inputs, from.shared_attributes(node),
                                        output_types(from, node));
    for (size_t i = 0; i < provided.size(); ++i)
      if (provided[i])
        made_[static_cast<size_t>(egraph_.outputs(node)[i].index)] =
            graph_.output(made, static_cast<int>(i));
  }

  Graph finish() {
    for (const GraphOutput& output : egraph_.graph().outputs())
      graph_.add_output(output.name, value(egraph_.find(output.value)));
    return std::move(graph_);
  }

 private:
  ValueId value(ValueId name) {
    if (!made_[static_cast<size_t>(name.index)].valid()) add_constant(name);
    return made_[static_cast<size_t>(name.index)];
  }

  /// A class of constants has one node, since no rule replaces a constant.
  void add_constant(ValueId name) {
    const Graph& from = egraph_.graph();
    const NodeId node = egraph_.producers(name).front();
    REVERIE_CHECK(from.is_constant(node));
    const auto i = static_cast<size_t>(name.index);
    if (const WeightPtr& weight = from.weight(node))
      made_[i] = graph_.add_constant(weight);
    else
      add(node, std::vector<bool>(egraph_.outputs(node).size(), true));
  }

  const EGraph& egraph_;
  Graph graph_;
  std::vector<ValueId> made_;  // by name of a class
};

}  // namespace

Extraction::Extraction(const EGraph& egraph, int64_t weight_limit)
    : egraph_(egraph),
      class_of_(static_cast<size_t>(egraph.graph().value_capacity()), -1),
      weight_of_(static_cast<size_t>(egraph.graph().value_capacity()), -1),
      node_of_(static_cast<size_t>(egraph.graph().node_capacity()), -1) {
  const Graph& graph = egraph.graph();
  problem_.weight_limit = weight_limit;
  std::vector<int> root_weights;
  for (const GraphOutput& output : graph.outputs()) {
    if (graph.is_constant(output.value))
      root_weights.push_back(weight(output.value));
    else
      problem_.roots.push_back(number(output.value));
  }
  sort_unique(problem_.roots);
  sort_unique(root_weights);
  for (const int stored : root_weights) {
    if (problem_.limited())
      problem_.weight_limit -= problem_.weight_bytes[static_cast<size_t>(stored)];
    problem_.weight_bytes[static_cast<size_t>(stored)] = 0;
  }
  for (size_t i = 0; i < names_.size(); ++i)  // grows meanwhile
    for (const NodeId node : egraph.producers(names_[i]))
      if (node_of_[static_cast<size_t>(node.index)] < 0) add_node(node);
  problem_.members.resize(names_.size());
  for (size_t i = 0; i < problem_.nodes.size(); ++i)
    for (const int output : problem_.nodes[i].outputs)
      problem_.members[static_cast<size_t>(output)].push_back(static_cast<int>(i));
}

int Extraction::number(ValueId value) {
  const ValueId name = egraph_.find(value);
  int& number = class_of_[static_cast<size_t>(name.index)];
  if (number < 0) {
    number = static_cast<int>(names_.size());
    names_.push_back(name);
  }
  return number;
}

int Extraction::weight(ValueId value) {
  const ValueId name = egraph_.find(value);
  int& number = weight_of_[static_cast<size_t>(name.index)];
  if (number < 0) {
    number = static_cast<int>(problem_.weight_bytes.size());
    problem_.weight_bytes.push_back(egraph_.graph().stored_bytes(name));
  }
  return number;
}

void Extraction::add_node(NodeId node) {
  const Graph& graph = egraph_.graph();
  node_of_[static_cast<size_t>(node.index)] = static_cast<int>(nodes_.size());
  nodes_.push_back(node);
  ExtractionProblem::Node result;
  result.cost = egraph_.cost(node).runtime.count;
  for (const ValueId input : graph.inputs(node)) {
    if (!input.valid()) continue;
    if (graph.is_constant(input))
      result.weights.push_back(weight(input));
    else
      result.inputs.push_back(number(input));
  }
  for (const ValueId output : egraph_.outputs(node)) result.outputs.push_back(number(output));
  sort_unique(result.inputs);
  sort_unique(result.outputs);
  sort_unique(result.weights);
  problem_.nodes.push_back(std::move(result));
}

Selection Extraction::selection_of(std::span<const NodeId> nodes) const {
  Selection selection(names_.size(), -1);
  for (const NodeId given : nodes) {
    const NodeId node = egraph_.find(given);
    const int number = node_of_[static_cast<size_t>(node.index)];
    if (number < 0 || !egraph_.alive(node)) continue;
    for (const int output : problem_.nodes[static_cast<size_t>(number)].outputs) {
      int& chosen = selection[static_cast<size_t>(output)];
      if (chosen < 0) chosen = number;
    }
  }
  return selection;
}

std::vector<NodeId> Extraction::nodes_of(const Selection& selection) const {
  Follower follower(problem_);
  REVERIE_CHECK(follower.cost(selection).has_value());
  std::vector<NodeId> result;
  for (const int node : follower.nodes()) result.push_back(nodes_[static_cast<size_t>(node)]);
  return result;
}

Graph Extraction::build(const Selection& selection) const {
  Builder builder(egraph_);
  builder.add_inputs();
  for (const NodeId node : nodes_of(selection)) {
    const int number = node_of_[static_cast<size_t>(node.index)];
    std::vector<bool> provided;
    for (const ValueId output : egraph_.outputs(node))
      provided.push_back(
          selection[static_cast<size_t>(class_of_[static_cast<size_t>(output.index)])] == number);
    builder.add(node, provided);
  }
  return builder.finish();
}

}  // namespace reverie
