#include "env/placement/machine/node_programs.h"

#include <fmt/format.h>

#include <map>

#include "core/base/error.h"
#include "env/placement/graph/cost_graph_builder.h"
#include "env/placement/graph/model_nodes.h"
#include "env/placement/machine/model_on_devices.h"

namespace reverie {
namespace {

/// Takes one operator out of a model.
class ProgramWriter {
 public:
  ProgramWriter(const Graph& model, const ModelNodes& nodes) : model_(model), nodes_(nodes) {}

  NodeProgram write(NodeId id) && {
    program_.name = described(model_, id);
    if (&model_.op(id) == &opaque_op())
      throw InputError("{} cannot be run on a processor's core", program_.name);
    std::vector<ValueId> constants;
    for (const ValueId input : model_.inputs(id))
      if (input.valid() && model_.is_constant(input)) constants.push_back(input);
    for (const NodeId constant : model_.topological_order(constants)) copy(constant);
    copy(id);
    for (const ValueId output : model_.outputs(id))
      program_.graph.add_output(fmt::format("y{}", model_.output_index(output)),
                                copied_.at(output));
    program_.first_output = nodes_.tensor(model_.output(id));
    return std::move(program_);
  }

 private:
  ValueId value(ValueId input) {
    if (!input.valid()) return {};
    const auto [place, is_new] = copied_.try_emplace(input);
    if (is_new) {
      const TensorType& type = model_.type(input);
      place->second = program_.graph.add_input(fmt::format("{}", program_.inputs.size()), type);
      program_.inputs.push_back({nodes_.tensor(input), type.shape});
    }
    return place->second;
  }

  void copy(NodeId id) {
    if (model_.weight(id)) {
      copied_[model_.output(id)] = program_.graph.add_constant(model_.weight(id));
      return;
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : model_.inputs(id)) inputs.push_back(value(input));
    const NodeId added = program_.graph.add_node(
        model_.op(id), inputs, model_.shared_attributes(id), output_types(model_, id));
    for (size_t i = 0; i < model_.outputs(id).size(); ++i)
      copied_[model_.outputs(id)[i]] = program_.graph.output(added, static_cast<int>(i));
  }

  const Graph& model_;
  const ModelNodes& nodes_;
  NodeProgram program_;
  std::map<ValueId, ValueId> copied_;
};

}  // namespace

CoreProgram core_program(const Graph& model, const std::string& name) {
  CostGraphBuilder builder({"cpu"});
  const ModelNodes nodes(model, builder);
  const CostGraph graph = with_context(name, [&] { return builder.finish(name); });
  CoreProgram program{.graph = with_costs(graph, "core", costs_of(graph)),
                      .nodes = std::vector<NodeProgram>(static_cast<size_t>(graph.size())),
                      .tensor_types = std::vector<TensorType>(graph.tensors().size()),
                      .inputs = {},
                      .outputs = {}};
  const auto note_types = [&](NodeId id) {
    for (const ValueId output : model.outputs(id))
      program.tensor_types[static_cast<size_t>(nodes.tensor(output))] = model.type(output);
  };
  for (const NodeId id : model.inputs()) {
    const bool is_read = model.use_count(model.output(id)) > 0;
    program.inputs.push_back(is_read ? nodes.tensor(model.output(id)) : -1);
    if (!is_read) continue;
    note_types(id);
    program.nodes[static_cast<size_t>(nodes.node(id))].first_output = program.inputs.back();
  }
  for (const NodeId id : nodes.operators()) {
    note_types(id);
    program.nodes[static_cast<size_t>(nodes.node(id))] = ProgramWriter(model, nodes).write(id);
  }
  for (const GraphOutput& output : model.outputs())
    if (!model.is_constant(output.value))
      program.outputs.push_back({nodes.tensor(output.value), model.type(output.value).shape});
  return program;
}

}  // namespace reverie
