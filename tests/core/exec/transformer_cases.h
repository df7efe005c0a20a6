#pragma once

#include <vector>

#include "tests/core/exec/operator_case.h"

namespace reverie::testing {

/// q, k and v as `perms` put their axes, then the order of the result's.
inline CaseBuilder attention_case(std::vector<TensorType> inputs, const std::vector<Ints>& perms) {
  return CaseBuilder("FusedAttention", std::move(inputs))
      .with("q_perm", perms[0])
      .with("k_perm", perms[1])
      .with("v_perm", perms[2])
      .with("perm", perms[3]);
}

/// What graphs are fused to on their way to a device.
inline std::vector<OperatorCase> fused_cases() {
  const Ints heads = {0, 2, 1, 3}, keys = {0, 2, 3, 1}, as_is = {0, 1, 2};
  return {
      attention_case({f32({2, 5, 4}), f32({2, 4, 7}), f32({2, 7, 6})},
                     {as_is, as_is, as_is, as_is}),
      attention_case({f32({2, 5, 3, 4}), f32({2, 7, 3, 4}), f32({2, 7, 3, 6}), f32({2, 1, 1, 7})},
                     {heads, keys, heads, heads})
          .with("scale", 0.5)
          .named("tokens_first"),
      attention_case({f32({2, 5, 4}), f32({2, 4, 7}), f32({2, 7, 6})},
                     {as_is, as_is, as_is, {1, 2, 0}})
          .named("turned"),
      attention_case({f32({70, 2, 16}), f32({130, 2, 16}), f32({130, 2, 16}), f32({70, 130})},
                     {{1, 0, 2}, {1, 2, 0}, {1, 0, 2}, {1, 0, 2}})
          .with("scale", 0.25)
          .named("long"),
      attention_case({f32({5, 4}), f32({4, 7}), f32({7, 6})}, {{0, 1}, {0, 1}, {0, 1}, {1, 0}})
          .named("one_head"),
      CaseBuilder("SkipLayerNormalization", {f32({2, 5, 8}), f32({2, 5, 8}), f32({8})}),
      CaseBuilder("SkipLayerNormalization",
                  {f32({2, 5, 8}), f32({2, 5, 8}), f32({8}), f32({8}), f32({8})})
          .with("epsilon", 0.01)
          .named("all"),
  };
}

/// Rows that ONNX got after opset 17, and rows of ONNX Runtime's.
inline std::vector<OperatorCase> transformer_cases() {
  return {
      CaseBuilder("RMSNormalization", {f32({2, 5, 24}), f32({24})}),
      CaseBuilder("RMSNormalization", {f32({2, 5, 6}), f32({1, 6})})
          .with("axis", int64_t{1})
          .with("epsilon", 0.1)
          .named("two_axes"),
      CaseBuilder("SkipLayerNormalization",
                  {f32({2, 5, 8}), f32({5, 8}), f32({8}), f32({8}), f32({8})})
          .with("epsilon", 0.01)
          .named("biases"),
      CaseBuilder("SkipLayerNormalization", {f32({5, 8}), f32({1, 8}), f32({8}), {}, f32({8})})
          .named("matrix"),
      CaseBuilder("SkipSimplifiedLayerNormalization",
                  {f32({2, 5, 8}), f32({1, 5, 8}), f32({8}), f32({8})}),
      CaseBuilder("Swish", {f32({2, 16, 3, 5})}).with("alpha", 1.702).within(-4, 4),
      CaseBuilder("BiasGelu", {f32({4, 3, 16}), f32({16})}).within(-4, 4),
      CaseBuilder("BiasGelu", {f32({4, 16}), f32({16})})
          .constant(1)
          .with("approximate", std::string("tanh"))
          .named("tanh"),
      CaseBuilder("FusedMatMul", {f32({2, 3, 4}), f32({4, 5})}).with("alpha", 0.125),
      CaseBuilder("FusedMatMul", {f32({2, 4, 3}), f32({2, 5, 4})})
          .with("transA", int64_t{1})
          .with("transB", int64_t{1})
          .named("turned"),
      CaseBuilder("FusedMatMul", {f32({3, 4}), f32({5, 4})})
          .constant(1)
          .with("transB", int64_t{1})
          .named("weight"),
      CaseBuilder("FusedMatMul", {f32({4}), f32({2, 5, 4})})
          .with("transB", int64_t{1})
          .named("vector"),
      CaseBuilder("JointAttention", {f32({2, 5, 6}), f32({6, 24}), f32({24})})
          .with("num_heads", int64_t{2}),
      CaseBuilder("JointAttention", {f32({2, 5, 6}),
                                     f32({6, 24}),
                                     f32({24}),
                                     of(DType::kInt32, {2, 5}),
                                     {},
                                     f32({1, 4, 5, 5})})
          .constant(1)
          .with("num_heads", int64_t{4})
          .with("scale", 0.25)
          .named("masked"),
      CaseBuilder("JointAttention",
                  {f32({2, 5, 6}), f32({6, 24}), f32({24}), of(DType::kInt32, {2})})
          .with("num_heads", int64_t{2})
          .with("mask_filter_value", -2.0)
          .with("unidirectional", int64_t{1})
          .named("lengths"),
      CaseBuilder("MultiHeadAttention", {f32({2, 5, 8}), f32({2, 3, 8}), f32({2, 3, 6})})
          .with("num_heads", int64_t{2}),
      CaseBuilder("MultiHeadAttention", {f32({2, 5, 8}), f32({2, 5, 8}), f32({2, 5, 6}), f32({22}),
                                         of(DType::kInt32, {2, 5}), f32({1, 1, 5, 5})})
          .with("num_heads", int64_t{2})
          .with("mask_filter_value", -3.0)
          .named("masked"),
      CaseBuilder("MultiHeadAttention", {f32({2, 5, 8}), f32({2, 5, 8}), f32({2, 5, 8})})
          .with("num_heads", int64_t{1})
          .with("unidirectional", int64_t{1})
          .named("causal"),
  };
}

}  // namespace reverie::testing
