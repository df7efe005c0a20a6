#include "core/onnx/infer_opaque.h"

#include <onnx/shape_inference/implementation.h>

#include <set>

#include "core/base/error.h"

namespace reverie::proto {
namespace {

onnx::ModelProto model_of_one_node(const onnx::NodeProto& node,
                                   const std::vector<KnownValue>& inputs,
                                   const onnx::ModelProto& model) {
  onnx::ModelProto single;
  single.set_ir_version(model.ir_version());
  *single.mutable_opset_import() = model.opset_import();
  *single.mutable_functions() = model.functions();
  onnx::GraphProto* graph = single.mutable_graph();
  graph->set_name("node");
  *graph->add_node() = node;
  std::set<std::string> added;
  for (const KnownValue& input : inputs) {
    if (!added.insert(input.name).second) continue;
    if (input.value != nullptr) {
      *graph->add_initializer() = *input.value;
      graph->mutable_initializer()->rbegin()->set_name(input.name);
    }
    auto* info = graph->add_input();
    info->set_name(input.name);
    if (input.type.value_case() != onnx::TypeProto::VALUE_NOT_SET)
      *info->mutable_type() = input.type;
  }
  return single;
}

}  // namespace

std::vector<onnx::TypeProto> infer_outputs(const onnx::NodeProto& node,
                                           const std::vector<KnownValue>& inputs,
                                           const onnx::ModelProto& model, bool strict) {
  onnx::ModelProto single = model_of_one_node(node, inputs, model);
  std::vector<onnx::TypeProto> types(static_cast<size_t>(node.output_size()));
  try {
    onnx::shape_inference::InferShapes(single, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(strict, strict ? 1 : 0, true));
  } catch (const std::exception& error) {
    if (strict) throw InputError("{}", one_line(error.what()));
    return types;
  }
  for (int i = 0; i < node.output_size(); ++i)
    for (const auto& info : single.graph().value_info())
      if (!node.output(i).empty() && info.name() == node.output(i))
        types[static_cast<size_t>(i)] = info.type();
  return types;
}

}  // namespace reverie::proto
