#include <unordered_map>

#include "core/base/error.h"
#include "core/onnx/convert.h"

/// Operators of ONNX Runtime's (its docs/ContribOperators.md).
namespace reverie::proto {
namespace {

std::optional<Values> gelu_of(Source& source, const char* approximate) {
  const bool has_bias = source.has_input(1);
  const Attributes attributes = {{"approximate", std::string(approximate)}};
  return source.add(has_bias ? "BiasGelu" : "Gelu", source.inputs, attributes);
}

std::optional<Values> gelu(Source& source) { return gelu_of(source, "none"); }
std::optional<Values> fast_gelu(Source& source) { return gelu_of(source, "tanh"); }

std::optional<Values> quick_gelu(Source& source) {
  constexpr double kAlpha = 1.702;
  return source.add("Swish", source.inputs, {{"alpha", source.attributes.number("alpha", kAlpha)}});
}

/// A product that turns and scales nothing is MatMul's.
std::optional<Values> fused_matmul(Source& source) {
  for (const char* name : {"transBatchA", "transBatchB"}) source.leave_out(name, int64_t{0});
  Attributes& attributes = source.attributes;
  const bool is_plain = attributes.integer("transA", 0) == 0 &&
                        attributes.integer("transB", 0) == 0 && attributes.number("alpha", 1) == 1;
  for (const char* name : {"transA", "transB", "alpha"})
    if (is_plain) attributes.erase(name);
  if (is_plain && attributes.empty()) return source.add("MatMul", source.inputs);
  return source.add("FusedMatMul", source.inputs, attributes);
}

/// Outputs 1 and 2 are statistics, output 3 the sum that is normalised.
std::optional<Values> skip_normalization(Source& source) {
  for (const int statistic : {1, 2})
    if (source.wants_output(statistic)) {
      source.obstacle = fmt::format("output {} is used", statistic);
      return std::nullopt;
    }
  const Values results = source.add(source.node.op_type(), source.inputs, source.attributes);
  return Values{results[0], {}, {}, results[1]};
}

std::optional<Values> simplified_layer_normalization(Source& source) {
  if (source.wants_output(1)) {
    source.obstacle = "output 1 is used";
    return std::nullopt;
  }
  source.leave_out("stash_type", int64_t{1});
  return source.add("RMSNormalization", source.inputs, source.attributes);
}

/// Without keys and values of before or for later.
std::optional<Values> attention_as(std::string_view op, Source& source) {
  for (const int output : {1, 2, 3})
    if (source.wants_output(output)) {
      source.obstacle = fmt::format("output {} is used", output);
      return std::nullopt;
    }
  for (const char* name : {"do_rotary", "past_present_share_buffer", "rotary_embedding_dim"})
    source.leave_out(name, int64_t{0});
  return source.add(op, source.inputs, source.attributes);
}

std::optional<Values> joint_attention(Source& source) {
  return attention_as("JointAttention", source);
}

std::optional<Values> multi_head_attention(Source& source) {
  return attention_as("MultiHeadAttention", source);
}

}  // namespace

Converter added_rule(std::string_view op) {
  const bool is_known = op == "SimplifiedLayerNormalization" || op == "RMSNormalization";
  return is_known ? simplified_layer_normalization : nullptr;
}

Converter runtime_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {
      {"Gelu", gelu},
      {"BiasGelu", gelu},
      {"FastGelu", fast_gelu},
      {"QuickGelu", quick_gelu},
      {"FusedMatMul", fused_matmul},
      {"Attention", joint_attention},
      {"MultiHeadAttention", multi_head_attention},
      {"TransposeMatMul", fused_matmul},
      {"SkipLayerNormalization", skip_normalization},
      {"SkipSimplifiedLayerNormalization", skip_normalization},
      {"SimplifiedLayerNormalization", simplified_layer_normalization}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
