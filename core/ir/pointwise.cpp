#include "core/ir/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/ir/text.h"

namespace reverie {
namespace {

void require_elementwise(const Graph& graph) {
  for (const NodeId node : graph.nodes()) {
    const OpSchema& op = graph.op(node);
    if (&op != &input_op() && (!op.elementwise || op.fused))
      throw InputError("{} is no operator of a program: it is not elementwise", op.name);
  }
}

}  // namespace

Graph pointwise_graph(std::string_view program, std::span<const TensorType> inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("x{} = Input : {}\n", i, to_string(inputs[i].at(0)));
  text += program;
  std::ranges::replace(text, ';', '\n');
  text += "\noutput y = y\n";
  Graph graph = with_context("program", [&] { return parse_graph(text); });
  if (graph.inputs().size() != inputs.size() || graph.outputs().size() != 1)
    throw InputError("program: its inputs and outputs are those of the node, not more");
  require_elementwise(graph);
  return graph;
}

}  // namespace reverie
