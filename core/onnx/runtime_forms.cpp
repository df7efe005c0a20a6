#include "core/onnx/runtime_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/onnx/newer_opsets.h"

namespace reverie::proto {
namespace {

/// Where there are two, the second approximates by tanh.
std::span<const RuntimeForm> forms_of(const OpSchema& op) {
  static const RuntimeForm fast_gelu = {kRuntimeDomain, "FastGelu", {"approximate"}, {0}};
  static const std::unordered_map<std::string_view, std::vector<RuntimeForm>> forms = {
      {"LayerNormalization", {{"", "LayerNormalization", {}, {0}}}},
      {"RMSNormalization", {{"", "SimplifiedLayerNormalization", {}, {0}}}},
      {"FusedMatMul", {{kRuntimeDomain, "FusedMatMul", {}, {0}}}},
      {"JointAttention", {{kRuntimeDomain, "Attention", {}, {0}}}},
      {"MultiHeadAttention", {{kRuntimeDomain, "MultiHeadAttention", {}, {0}}}},
      {"Gelu", {{kRuntimeDomain, "Gelu", {"approximate"}, {0}}, fast_gelu}},
      {"BiasGelu", {{kRuntimeDomain, "BiasGelu", {"approximate"}, {0}}, fast_gelu}},
      {"Swish", {{kRuntimeDomain, "QuickGelu", {}, {0}}}},
      {"SkipLayerNormalization", {{kRuntimeDomain, "SkipLayerNormalization", {}, {0, 3}}}},
      {"SkipSimplifiedLayerNormalization",
       {{kRuntimeDomain, "SkipSimplifiedLayerNormalization", {}, {0, 3}}}},
  };
  const auto at = forms.find(op.name);
  return at == forms.end() ? std::span<const RuntimeForm>() : std::span(at->second);
}

}  // namespace

bool is_added_by_runtime(std::string_view op) {
  static const std::unordered_set<std::string_view> known = {"LayerNormalization",
                                                             "SimplifiedLayerNormalization",
                                                             "Affine",
                                                             "Crop",
                                                             "DynamicSlice",
                                                             "GivenTensorFill",
                                                             "GRUUnit",
                                                             "ImageScaler",
                                                             "ParametricSoftplus",
                                                             "Scale",
                                                             "ScaledTanh"};
  return known.contains(op);
}

bool speaks_runtime(const onnx::NodeProto& node, int opset) {
  if (node.domain() == kRuntimeDomain) return true;
  if (is_standard_domain(node.domain()) && is_added_by_runtime(node.op_type()) &&
      since_version(node.op_type(), opset) == 0)
    return true;
  const auto any_in = [&](const onnx::GraphProto& graph) {
    return std::ranges::any_of(graph.node(),
                               [&](const auto& inner) { return speaks_runtime(inner, opset); });
  };
  return std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
    return any_in(attribute.g()) || std::ranges::any_of(attribute.graphs(), any_in);
  });
}

const RuntimeForm* runtime_form(const OpSchema& op, const Attributes& attributes) {
  const auto forms = forms_of(op);
  const bool takes_second = forms.size() > 1 && attributes.text("approximate") == "tanh";
  return forms.empty() ? nullptr : &forms[takes_second ? 1 : 0];
}

std::vector<std::string> runtime_names(const OpSchema& op) {
  std::vector<std::string> names;
  for (const RuntimeForm& form : forms_of(op))
    names.push_back(fmt::format("{}{}{}", form.domain, form.domain.empty() ? "" : "::", form.name));
  return names;
}

}  // namespace reverie::proto
