#include "core/exec/device/rebuild.h"

namespace reverie::device {

Rebuilding::Rebuilding(const Graph& graph)
    : graph_(graph), places_(static_cast<size_t>(graph.value_capacity())) {
  for (const NodeId input : graph.inputs())
    at(graph.output(input)) =
        copy_.add_input(graph.input_name(input), graph.type(graph.output(input)));
}

ValueId Rebuilding::needed(ValueId value) {
  if (!at(value).valid() && graph_.is_constant(value)) copy(graph_.producer(value));
  return at(value);
}

NodeId Rebuilding::add(const OpSchema& op, std::span<const ValueId> inputs, Attributes attributes) {
  std::vector<ValueId> moved;
  for (const ValueId input : inputs) moved.push_back(input.valid() ? needed(input) : ValueId{});
  return copy_.add_node(op, moved, std::move(attributes));
}

void Rebuilding::copy(NodeId node) {
  if (graph_.weight(node) != nullptr) {
    at(graph_.output(node)) = copy_.add_constant(graph_.weight(node));
    return;
  }
  std::vector<ValueId> inputs;
  for (const ValueId input : graph_.inputs(node))
    inputs.push_back(input.valid() ? needed(input) : ValueId{});
  const NodeId added = copy_.add_node(graph_.op(node), inputs, graph_.shared_attributes(node),
                                      output_types(graph_, node));
  copy_.set_names(added, graph_.names(node));
  for (size_t i = 0; i < graph_.outputs(node).size(); ++i)
    at(graph_.outputs(node)[i]) = copy_.outputs(added)[i];
}

Graph rebuilt(const Graph& graph, const std::function<bool(NodeId, Rebuilding&)>& replace) {
  Rebuilding rebuilding(graph);
  for (const NodeId node : graph.topological_order())
    if (!rebuilding.at(graph.output(node)).valid() && !replace(node, rebuilding))
      rebuilding.copy(node);
  for (const GraphOutput& output : graph.outputs())
    rebuilding.to().add_output(output.name, rebuilding.at(output.value));
  rebuilding.to().erase_dead();
  return std::move(rebuilding.to());
}

}  // namespace reverie::device
