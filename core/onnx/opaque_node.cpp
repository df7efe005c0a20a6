#include "core/onnx/opaque_node.h"

#include <map>

#include "core/onnx/captures.h"
#include "core/onnx/node_notes.h"
#include "core/onnx/node_opsets.h"

namespace reverie::proto {
namespace {

onnx::NodeProto canonical(onnx::NodeProto node) {
  set_notes({}, &node);
  const std::vector<std::string> captured = captured_names(node);
  for (auto& input : *node.mutable_input())
    if (!input.empty()) input = "x";
  for (auto& output : *node.mutable_output())
    if (!output.empty()) output = "y";
  const std::vector<std::string> names = canonical_captures(node, captured.size());
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; i < captured.size(); ++i) renamed.emplace(captured[i], names[i]);
  rename_captured(&node, renamed);
  return node;
}

}  // namespace

Attributes opaque_attributes(const onnx::NodeProto& node, const onnx::ModelProto& model) {
  return {{"op", node.op_type()},
          {"domain", node.domain()},
          {"proto", canonical(node).SerializeAsString()},
          {"opsets", opsets_of(node, model)}};
}

}  // namespace reverie::proto
