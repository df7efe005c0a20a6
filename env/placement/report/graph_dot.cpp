#include "env/placement/report/graph_dot.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/report/svg.h"
#include "env/placement/report/display.h"

namespace reverie {
namespace {

constexpr int kMostForDot = 400;  ///< of more nodes dot takes minutes, sfdp about a second

/// As text in double quotes that Graphviz shows as it is: it reads escapes and HTML entities.
std::string escape_dot(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"')
      result += "\\\"";
    else if (c == '\\')
      result += "\\\\";
    else if (c == '&')
      result += "&amp;";
    else if (c == '\n')
      result += "\\n";
    else if (static_cast<unsigned char>(c) < ' ')
      result += ' ';
    else
      result += c;
  }
  return result;
}

/// The fill is the same colour, pale enough for text.
std::string node_line(const std::string& id, const std::string& label, int device) {
  return fmt::format("  {0} [label=\"{1}\", color=\"{2}\", fillcolor=\"{2}40\"];\n", id, label,
                     chart_color(static_cast<size_t>(device)));
}

std::string legend(const Topology& topology) {
  std::string dot = "  subgraph cluster_devices {\n  label=\"devices\";\n";
  for (int device = 0; device < topology.size(); ++device)
    dot += node_line(fmt::format("device{}", device),
                     escape_dot(topology.devices[static_cast<size_t>(device)].name), device);
  return dot + "  }\n";
}

}  // namespace

std::string placement_dot(const CostGraph& graph, const Topology& topology,
                          const Placement& placement) {
  REVERIE_CHECK(static_cast<int>(placement.device.size()) == graph.size());
  std::string dot = fmt::format(
      "digraph \"{0}\" {{\n  label=\"{0} on {1}\";\n  fontname=\"sans-serif\";\n"
      "  node [shape=box, style=\"filled,rounded\", penwidth=2, fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n",
      escape_dot(graph.name()), escape_dot(topology.name));
  if (graph.size() > kMostForDot) dot += "  layout=sfdp;\n  overlap=prism;\n";
  dot += legend(topology);
  for (int node = 0; node < graph.size(); ++node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    const int device = placement.device[static_cast<size_t>(node)];
    const std::string& on = topology.devices[static_cast<size_t>(device)].name;
    const std::string what = one.op.empty() ? "" : escape_dot(one.op) + " ";
    dot +=
        node_line(fmt::format("n{}", node),
                  fmt::format("{}\\n{}on {}", escape_dot(one.name), what, escape_dot(on)), device);
  }
  for (const CostTensor& tensor : graph.tensors())
    for (const int reader : tensor.readers) {
      const bool same = placement.device[static_cast<size_t>(tensor.producer)] ==
                        placement.device[static_cast<size_t>(reader)];
      dot += fmt::format("  n{} -> n{} [label=\"{}\"{}];\n", tensor.producer, reader,
                         bytes_text(tensor.bytes), same ? "" : ", style=bold");
    }
  return dot + "}\n";
}

}  // namespace reverie
