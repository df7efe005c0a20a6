#include "core/onnx/well_formed.h"

#include <onnx/defs/schema.h>

#include <string>

#include "core/base/error.h"
#include "core/onnx/import.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/subgraphs.h"

namespace reverie::proto {
namespace {

/// A node as the library knows it, and its definition there; nullptr where it has none.
struct Definition {
  onnx::NodeProto node;
  const onnx::OpSchema* schema = nullptr;
};

/// Without what subgraphs hold.
onnx::NodeProto outside_of(const onnx::NodeProto& node) {
  onnx::NodeProto outside = node;
  for_each_subgraph(outside, [](onnx::GraphProto& graph) { graph.Clear(); });
  return outside;
}

Definition definition_at(const onnx::NodeProto& node, int opset) {
  onnx::ModelProto model;
  model.add_opset_import()->set_version(opset);
  *model.mutable_graph()->add_node() = outside_of(node);
  restate_for_library(&model);
  Definition found = {std::move(*model.mutable_graph()->mutable_node(0)), nullptr};
  found.schema = onnx::OpSchemaRegistry::Schema(
      found.node.op_type(), std::min(opset, kNewestInLibrary), found.node.domain());
  return found;
}

void require_no_gaps(const Definition& definition) {
  const auto& inputs = definition.schema->inputs();
  if (inputs.empty() || inputs.back().GetOption() != onnx::OpSchema::Variadic) return;
  for (int i = static_cast<int>(inputs.size()) - 1; i < definition.node.input_size(); ++i)
    if (definition.node.input(i).empty()) throw InputError("input {} is missing", i);
}

void verify(const Definition& definition) {
  try {
    definition.schema->Verify(definition.node);
  } catch (const std::exception& objection) {
    throw InputError("{}", one_line(objection.what()));
  }
  for (const auto& attribute : definition.node.attribute())
    if (!attribute.ref_attr_name().empty())
      throw InputError("attribute '{}' refers to one of a function, which it does not stand in",
                       attribute.name());
  require_no_gaps(definition);
}

bool fits(const Definition& definition) {
  try {
    verify(definition);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::string reason_against_form(const onnx::NodeProto& node, int opset) {
  const Definition own = definition_at(node, opset);
  if (own.schema != nullptr) verify(own);
  const bool is_beyond_library = !is_standard_domain(own.node.domain());
  if (own.schema != nullptr || is_beyond_library) return {};
  if (since_version(node.op_type(), kNewestOpset) == 0) return {};
  for (int newer = opset + 1; newer <= kNewestInLibrary; ++newer) {
    const Definition next = definition_at(node, newer);
    if (next.schema != nullptr && fits(next)) return {};
  }
  return fmt::format("opset {} has no such operator", opset);
}

}  // namespace reverie::proto
