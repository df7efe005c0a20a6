#include "env/placement/graph/model_graph.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/cost/cost_model.h"
#include "env/placement/graph/model_nodes.h"

namespace reverie {
namespace {

bool is_view(const Graph& graph, NodeId id) { return graph.op(id).view && graph.is_work(id); }

std::string op_of(const Graph& graph, NodeId id) {
  return &graph.op(id) == &opaque_op() ? graph.attributes(id).text("op", "Opaque")
                                       : graph.op(id).name;
}

std::string name_of_node(const Graph& graph, NodeId id, size_t number) {
  if (&graph.op(id) == &input_op()) return graph.input_name(id);
  const auto& names = graph.names(id);
  if (names != nullptr && !names->node.empty()) return names->node;
  return fmt::format("{}_{}", op_of(graph, id), number);
}

}  // namespace

std::vector<std::string> kinds_of(const Topology& topology) {
  std::vector<std::string> kinds;
  for (const Device& device : topology.devices) kinds.push_back(device.kind);
  return kinds;
}

ModelNodes::ModelNodes(const Graph& graph, CostGraphBuilder& builder)
    : graph_(graph),
      builder_(builder),
      nodes_(static_cast<size_t>(graph.node_capacity()), -1),
      tensors_(static_cast<size_t>(graph.value_capacity()), -1) {
  for (const NodeId id : graph.topological_order()) {
    const bool is_input = &graph.op(id) == &input_op();
    if (is_input && graph.use_count(graph.output(id)) == 0) continue;
    if (is_input || (graph.is_work(id) && !is_view(graph, id))) add(id);
  }
}

void ModelNodes::add(NodeId id) {
  int& node = nodes_[static_cast<size_t>(id.index)];
  if (&graph_.op(id) == &input_op()) {
    node = builder_.add_node(graph_.input_name(id), "Input");
  } else {
    const OpSignature signature = signature_of(graph_, id);
    node = builder_.add_node(name_of_node(graph_, id, operators_.size()), op_of(graph_, id),
                             &signature);
    operators_.push_back(id);
  }
  for (const ValueId output : graph_.outputs(id))
    tensors_[static_cast<size_t>(output.index)] =
        builder_.add_tensor(node, graph_.type(output).bytes());
  std::vector<ValueId> seen;
  for (const ValueId input : graph_.inputs(id)) {
    if (!input.valid() || std::ranges::find(seen, input) != seen.end()) continue;
    seen.push_back(input);
    read(node, input);
  }
}

void ModelNodes::read(int node, ValueId input) {
  const ValueId value = source(input);
  if (!graph_.is_constant(value)) return builder_.read(node, tensor(value));
  const TensorType& type = graph_.type(value);
  const auto [holder, is_new] = holders_.try_emplace(value, node);
  const bool is_small = type.elements() <= Weight::kSmallWeight;
  if (is_new || is_small) builder_.hold(node, type.bytes());
  if (!is_new && !is_small) builder_.keep_together(holder->second, node);
}

ValueId ModelNodes::source(ValueId value) const {
  while (is_view(graph_, graph_.producer(value))) value = graph_.inputs(graph_.producer(value))[0];
  return value;
}

int ModelNodes::tensor(ValueId value) const {
  const int tensor = tensors_[static_cast<size_t>(source(value).index)];
  REVERIE_CHECK(tensor >= 0);
  return tensor;
}

std::vector<FoldedNode> folded_nodes(const Graph& graph, const Topology& topology) {
  CostGraphBuilder builder(kinds_of(topology));
  const ModelNodes nodes(graph, builder);
  const auto reader = [&](NodeId id) -> std::string {
    for (auto next = graph.users(graph.outputs(id)[0]); !next.empty();
         next = graph.users(graph.outputs(next.front())[0]))
      if (nodes.node(next.front()) >= 0) return builder.node_name(nodes.node(next.front()));
    return "";
  };
  std::vector<FoldedNode> folded;
  for (const NodeId id : graph.topological_order()) {
    const bool is_folded = graph.is_constant(id) && !graph.inputs(id).empty();
    if (!is_folded && !is_view(graph, id)) continue;
    const ValueId source = nodes.source(graph.outputs(id)[0]);
    const int viewed =
        is_folded || graph.is_constant(source) ? -1 : nodes.node(graph.producer(source));
    folded.push_back({name_of_node(graph, id, folded.size()), op_of(graph, id),
                      viewed >= 0 ? builder.node_name(viewed) : reader(id)});
  }
  return folded;
}

CostGraph cost_graph_of(const Graph& graph, const Topology& topology, const std::string& name) {
  return with_context(name, [&] {
    CostGraphBuilder builder(kinds_of(topology));
    const ModelNodes nodes(graph, builder);
    return builder.finish(name);
  });
}

}  // namespace reverie
