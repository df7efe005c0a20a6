#include "core/ir/dot.h"

#include <fmt/format.h>

#include <iterator>

namespace reverie {
namespace {

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  result += '"';
  return result;
}

/// "opaque Foo" where the operator is not in the table.
std::string title(const Graph& graph, NodeId node) {
  if (&graph.op(node) == &input_op()) return graph.input_name(node);
  const Attributes& attributes = graph.attributes(node);
  if (&graph.op(node) == &opaque_op()) return "opaque " + attributes.text("op", "");
  const std::string activation =
      attributes.has("activation") ? attributes.text("activation", "none") : "none";
  return graph.op(node).name + (activation == "none" ? "" : " + " + activation);
}

std::string label(const Graph& graph, NodeId node) {
  std::string text = title(graph, node);
  int constants = 0;
  for (const ValueId input : graph.inputs(node))
    constants += input.valid() && graph.is_constant(input);
  if (constants > 0) text += fmt::format(" ({} const)", constants);
  for (const ValueId output : graph.outputs(node))
    text +=
        fmt::format("\n{}", graph.type(output).known() ? to_string(graph.type(output)) : "unknown");
  return in_quotes(text);
}

}  // namespace

std::string to_dot(const Graph& graph) {
  std::string text = "digraph model {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const auto out = std::back_inserter(text);
  std::vector<int> number(static_cast<size_t>(graph.node_capacity()), -1);
  int next = 0;
  for (const NodeId node : graph.topological_order()) {
    if (graph.is_constant(node)) continue;
    number[static_cast<size_t>(node.index)] = next;
    fmt::format_to(out, "  n{} [label={}{}];\n", next++, label(graph, node),
                   graph.is_work(node) ? "" : ", style=rounded");
    for (const ValueId input : graph.inputs(node))
      if (input.valid() && !graph.is_constant(input))
        fmt::format_to(out, "  n{} -> n{};\n",
                       number[static_cast<size_t>(graph.producer(input).index)],
                       number[static_cast<size_t>(node.index)]);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    fmt::format_to(out, "  o{} [label={}, shape=ellipse];\n", i, in_quotes(output.name));
    const int producer = number[static_cast<size_t>(graph.producer(output.value).index)];
    if (producer >= 0) fmt::format_to(out, "  n{} -> o{};\n", producer, i);
  }
  return text + "}\n";
}

}  // namespace reverie
