#include "core/exec/node_graph.h"

#include <fmt/format.h>

namespace reverie {

Graph node_graph(const OpSchema& op, std::shared_ptr<const Attributes> attributes,
                 std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                 std::span<const WeightPtr> constants) {
  Graph graph;
  std::vector<ValueId> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].known()) {
      values.push_back({});
    } else if (i < constants.size() && constants[i] != nullptr) {
      values.push_back(graph.add_constant(constants[i]));
    } else {
      values.push_back(graph.add_input(fmt::format("{}", i), inputs[i]));
    }
  }
  const NodeId node = graph.add_node(op, values, std::move(attributes), outputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    graph.add_output(fmt::format("y{}", i), graph.output(node, static_cast<int>(i)));
  return graph;
}

}  // namespace reverie
