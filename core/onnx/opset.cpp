#include <onnx/defs/schema.h>

#include "core/base/error.h"
#include "core/onnx/exporter.h"
#include "core/onnx/import.h"

namespace reverie::proto {
namespace {

bool same_meaning(const onnx::NodeProto& node, int a, int b);

bool same_meaning(const onnx::GraphProto& graph, int a, int b) {
  for (const auto& node : graph.node())
    if (!same_meaning(node, a, b)) return false;
  return true;
}

bool same_meaning(const onnx::NodeProto& node, int a, int b) {
  if (is_standard_domain(node.domain())) {
    const auto* old_schema = onnx::OpSchemaRegistry::Schema(node.op_type(), a, "");
    const auto* new_schema = onnx::OpSchemaRegistry::Schema(node.op_type(), b, "");
    if (old_schema != nullptr && new_schema != nullptr &&
        old_schema->SinceVersion() != new_schema->SinceVersion())
      return false;
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g() && !same_meaning(attribute.g(), a, b)) return false;
    for (const auto& graph : attribute.graphs())
      if (!same_meaning(graph, a, b)) return false;
  }
  return true;
}

}  // namespace

int common_opset(const Graph& graph, int original) {
  std::string obstacle;
  for (int opset = original; opset <= kNewestOpset; ++opset) {
    bool fits = true;
    for (const NodeId id : graph.nodes()) {
      if (!graph.is_work(id)) continue;
      if (&graph.op(id) == &opaque_op()) {
        onnx::NodeProto node;
        node.ParseFromString(graph.attributes(id).text("proto"));
        fits = opset == original || same_meaning(node, original, opset);
        if (!fits)
          throw InputError(
              "{} needs a newer opset than {}, for which an untouched {} was written; convert the "
              "model to a newer opset first",
              obstacle, original, node.op_type());
      } else {
        fits = can_write(graph, id, opset);
        if (!fits) obstacle = graph.op(id).name;
      }
      if (!fits) break;
    }
    if (fits) return opset;
  }
  throw InputError("{} cannot be written for any opset up to {}", obstacle, kNewestOpset);
}

}  // namespace reverie::proto
