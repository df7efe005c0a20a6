#include "core/onnx/runtime_forms.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/onnx/newer_opsets.h"

namespace reverie::proto {
namespace {

bool is_exact(const Attributes& attributes) { return attributes.text("approximate") == "none"; }

}  // namespace

bool is_added_by_runtime(std::string_view op) {
  static const std::unordered_set<std::string_view> known = {
      "LayerNormalization", "SimplifiedLayerNormalization", "Affine", "Crop", "DynamicSlice", "GivenTensorFill",
      "GRUUnit", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"};
  return known.contains(op);
}

bool speaks_runtime(const onnx::NodeProto& node, int opset) {
  if (node.domain() == kRuntimeDomain) return true;
  if (is_standard_domain(node.domain()) && is_added_by_runtime(node.op_type()) &&
      since_version(node.op_type(), opset) == 0)
    return true;
  const auto any_in = [&](const onnx::GraphProto& graph) {
    return std::ranges::any_of(graph.node(), [&](const auto& inner) { return speaks_runtime(inner, opset); });
  };
  return std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
    return any_in(attribute.g()) || std::ranges::any_of(attribute.graphs(), any_in);
  });
}

const RuntimeForm* runtime_form(const OpSchema& op, const Attributes& attributes) {
  static const RuntimeForm gelu = {kRuntimeDomain, "Gelu", {"approximate"}, {0}};
  static const RuntimeForm bias_gelu = {kRuntimeDomain, "BiasGelu", {"approximate"}, {0}};
  static const RuntimeForm fast_gelu = {kRuntimeDomain, "FastGelu", {"approximate"}, {0}};
  static const std::unordered_map<std::string_view, RuntimeForm> others = {
      {"LayerNormalization", {"", "LayerNormalization", {}, {0}}},
      {"RMSNormalization", {"", "SimplifiedLayerNormalization", {}, {0}}},
      {"FusedMatMul", {kRuntimeDomain, "FusedMatMul", {}, {0}}},
      {"Swish", {kRuntimeDomain, "QuickGelu", {}, {0}}},
      {"SkipLayerNormalization", {kRuntimeDomain, "SkipLayerNormalization", {}, {0, 3}}},
      {"SkipSimplifiedLayerNormalization", {kRuntimeDomain, "SkipSimplifiedLayerNormalization", {}, {0, 3}}},
  };
  if (op.is("Gelu")) return is_exact(attributes) ? &gelu : &fast_gelu;
  if (op.is("BiasGelu")) return is_exact(attributes) ? &bias_gelu : &fast_gelu;
  const auto at = others.find(op.name);
  return at == others.end() ? nullptr : &at->second;
}

}  // namespace reverie::proto
