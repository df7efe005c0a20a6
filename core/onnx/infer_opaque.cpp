#include "core/onnx/infer_opaque.h"

#include <algorithm>
#include <set>

#include "core/onnx/infer_further.h"
#include "core/onnx/library.h"
#include "core/onnx/runtime_forms.h"

namespace reverie::proto {
namespace {

/// Whether it is one operator of the standard, without graphs or functions.
bool is_leaf(const onnx::NodeProto& node) {
  return is_standard_domain(node.domain()) &&
         std::ranges::none_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
           return attribute.has_g() || attribute.graphs_size() > 0;
         });
}

/// The node of the standard that gives what ONNX Runtime's with an activation gives, but for its
/// elements; another as it is.
onnx::NodeProto without_activation(onnx::NodeProto node) {
  const bool is_conv = node.op_type() == "FusedConv", is_gemm = node.op_type() == "FusedGemm";
  if (node.domain() != kRuntimeDomain || (!is_conv && !is_gemm)) return node;
  node.clear_domain();
  node.set_op_type(is_conv ? "Conv" : "Gemm");
  constexpr int kOwnInputs = 3;  // the next is added
  while (node.input_size() > kOwnInputs) node.mutable_input()->RemoveLast();
  auto* attributes = node.mutable_attribute();
  attributes->erase(std::remove_if(attributes->begin(), attributes->end(),
                                   [](const auto& attribute) {
                                     return attribute.name().starts_with("activation");
                                   }),
                    attributes->end());
  return node;
}

bool is_known(const KnownValue& value) {
  return value.type.value_case() != onnx::TypeProto::VALUE_NOT_SET;
}

onnx::ModelProto model_of_one_node(const onnx::NodeProto& node,
                                   const std::vector<KnownValue>& inputs,
                                   const onnx::ModelProto& model) {
  onnx::ModelProto single;
  single.set_ir_version(model.ir_version());
  *single.mutable_opset_import() = model.opset_import();
  if (!is_leaf(node)) *single.mutable_functions() = model.functions();
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
    if (is_known(input)) *info->mutable_type() = input.type;
  }
  return single;
}

/// By the place of the node's own inputs; not set for one that is absent.
std::vector<onnx::TypeProto> own_types(const onnx::NodeProto& node,
                                       const std::vector<KnownValue>& inputs) {
  std::vector<onnx::TypeProto> types(static_cast<size_t>(node.input_size()));
  for (size_t i = 0; i < types.size(); ++i)
    for (const KnownValue& input : inputs)
      if (input.name == node.input(static_cast<int>(i))) types[i] = input.type;
  return types;
}

/// ONNX calls extents that it does not know "unk__0" and so on, in each model anew.
void forget_made_up_names(onnx::TypeProto* type) {
  if (!type->has_tensor_type() || !type->tensor_type().has_shape()) return;
  for (auto& dim : *type->mutable_tensor_type()->mutable_shape()->mutable_dim())
    if (dim.dim_param().starts_with("unk__")) dim.clear_dim_param();
}

}  // namespace

std::vector<onnx::TypeProto> infer_outputs(const onnx::NodeProto& original,
                                           const std::vector<KnownValue>& inputs,
                                           const onnx::ModelProto& model, bool strict) {
  const onnx::NodeProto node = without_activation(original);
  onnx::ModelProto single = model_of_one_node(node, inputs, model);
  std::vector<onnx::TypeProto> types(static_cast<size_t>(node.output_size()));
  const bool all_known = is_leaf(node) && std::ranges::all_of(inputs, is_known);
  Inference inference;
  try {
    inference =
        infer_shapes(&single, {.check_types = strict, .strict = strict, .values = all_known});
  } catch (const LibraryCrash&) {
    if (strict || all_known) throw;
  }
  if (strict && !inference.objection.empty()) throw InputError("{}", inference.objection);
  for (int i = 0; i < node.output_size(); ++i)
    for (const auto& info : inference.values)
      if (!node.output(i).empty() && info.name() == node.output(i))
        types[static_cast<size_t>(i)] = info.type();
  for (onnx::TypeProto& type : types) forget_made_up_names(&type);
  infer_further(node, own_types(node, inputs), &types);
  return types;
}

}  // namespace reverie::proto
