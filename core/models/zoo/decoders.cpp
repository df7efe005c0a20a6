#include <fmt/format.h>

#include <cmath>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

namespace reverie::zoo {
namespace {

constexpr int64_t kHidden = 256;
constexpr int64_t kHeads = 4;
constexpr int64_t kSize = kHidden / kHeads;
constexpr int64_t kVocabulary = 4000;
constexpr int64_t kLayers = 3;
const Dims kCache = {"batch", kHeads, "past", kSize};
const Dims kNewCache = {"batch", kHeads, "total", kSize};

struct Cached {
  Value key, value;
};

Cached past(Net& net, int64_t layer) {
  const Value key = net.input(fmt::format("past_key_values.{}.key", layer), kFloat, kCache);
  return {key, net.input(fmt::format("past_key_values.{}.value", layer), kFloat, kCache)};
}

void present(Net& net, int64_t layer, const Cached& cached) {
  net.output(fmt::format("present.{}.key", layer), cached.key, kFloat, kNewCache);
  net.output(fmt::format("present.{}.value", layer), cached.value, kFloat, kNewCache);
}

/// (batch, length, hidden) to (batch, heads, length, size).
Value to_heads(Net& net, const Value& x) {
  const Value apart =
      view(net, x, {extent(net, x, 0), extent(net, x, 1), net.integer(kHeads), net.integer(kSize)});
  return transpose(net, apart, {0, 2, 1, 3});
}

Value from_heads(Net& net, const Value& x) {
  const Value last = transpose(net, x, {0, 2, 1, 3});
  return view(net, last, {extent(net, last, 0), extent(net, last, 1), net.integer(kHidden)});
}

/// Positions `start` to `start + length` of the range up to `total`.
Value positions(Net& net, const Value& start, const Value& total) {
  return net.add("Range", {start, total, net.integer(1)});
}

// GPT-2 (Radford et al. 2019), with a cache.

/// Conv1D of its source: a Gemm on rows.
Value rows_gemm(Net& net, const Value& x, const std::string& name, int64_t inputs,
                int64_t outputs) {
  const Module module(net, name);
  const Value rows = reshape(net, x, {-1, inputs});
  const Value y = net.add(
      "Gemm", {rows, net.weight("weight", {inputs, outputs}, inputs), net.offset("bias", outputs)},
      {{"alpha", 1.0f}, {"beta", 1.0f}});
  return view(net, y, {extent(net, x, 0), extent(net, x, 1), net.integer(outputs)});
}

/// Rows of the triangular mask that belong to the new tokens, then Where.
Value causal(Net& net, const Value& scores) {
  std::vector<bool> triangle;
  for (int64_t i = 0; i < 256; ++i)
    for (int64_t j = 0; j < 256; ++j) triangle.push_back(j <= i);
  const Value table = net.initializer("bias", bools_tensor({1, 1, 256, 256}, triangle));
  const Value length = extent(net, scores, 2);
  const Value total = extent(net, scores, 3);
  const auto cut = [&](const Value& x, const Value& from, const Value& to, int64_t axis) {
    return net.add("Slice", {x, unsqueeze(net, from, {0}), unsqueeze(net, to, {0}),
                             net.ints({axis}), net.ints({1})});
  };
  const Value rows = cut(table, net.add("Sub", {total, length}), total, 2);
  const Value mask = cut(rows, net.integer(0), total, 3);
  return net.add("Where", {mask, scores, net.number(-1e4f)});
}

Value gpt2_layer(Net& net, const Value& x, Cached* cached) {
  const Value normal = layer_norm(net, x, "ln_1", kHidden);
  const Values parts = split(net, rows_gemm(net, normal, "attn.c_attn", kHidden, 3 * kHidden), 2,
                             {kHidden, kHidden, kHidden});
  const Value query = to_heads(net, parts[0]);
  cached->key = concat(net, {cached->key, to_heads(net, parts[1])}, -2);
  cached->value = concat(net, {cached->value, to_heads(net, parts[2])}, -2);
  const Value product = net.add("MatMul", {query, transpose(net, cached->key, {0, 1, 3, 2})});
  const float root = std::sqrt(static_cast<float>(kSize));
  const Value scores = causal(net, net.add("Div", {product, net.number(root)}));
  const Value context =
      from_heads(net, net.add("MatMul", {softmax(net, scores, 3), cached->value}));
  const Value y = net.add("Add", {rows_gemm(net, context, "attn.c_proj", kHidden, kHidden), x});
  const Value up = gelu_tanh(
      net, rows_gemm(net, layer_norm(net, y, "ln_2", kHidden), "mlp.c_fc", kHidden, 4 * kHidden));
  return net.add("Add", {y, rows_gemm(net, up, "mlp.c_proj", 4 * kHidden, kHidden)});
}

// LLaMA (Touvron et al. 2023), with a cache.

Value rms_norm(Net& net, const Value& x, const std::string& name) {
  const Module module(net, name);
  const Value square = net.add("Pow", {cast(net, x, kFloat), net.number(2)});
  const Value variance = reduce(net, "ReduceMean", square, {-1});
  const Value root = net.add("Sqrt", {net.add("Add", {variance, net.number(1e-6f)})});
  const Value normal = net.add("Mul", {x, net.add("Div", {net.number(1), root})});
  return net.add("Mul", {net.positive("weight", {kHidden}), normal});
}

struct Rotary {
  Value cos, sin;
};

/// cos and sin of position * 10000^(-2i / size), (1, length, size).
Rotary rotary(Net& net, const Value& places) {
  Floats frequencies;
  for (int64_t i = 0; i < kSize / 2; ++i)
    frequencies.push_back(std::pow(10000.0f, -2.0f * static_cast<float>(i) / kSize));
  const Value table = net.constant(floats_tensor({1, kSize / 2, 1}, frequencies));
  const Value row = unsqueeze(net, unsqueeze(net, cast(net, places, kFloat), {0}), {0});
  const Value angles = transpose(net, net.add("MatMul", {table, row}), {0, 2, 1});
  const Value both = concat(net, {angles, angles}, -1);
  return {unsqueeze(net, net.add("Cos", {both}), {1}), unsqueeze(net, net.add("Sin", {both}), {1})};
}

/// x cos + rotate_half(x) sin.
Value rotate(Net& net, const Value& x, const Rotary& r) {
  const Value first = slice(net, x, 3, 0, kSize / 2);
  const Value second = slice(net, x, 3, kSize / 2, INT64_MAX);
  const Value turned = concat(net, {net.add("Neg", {second}), first}, -1);
  return net.add("Add", {net.add("Mul", {x, r.cos}), net.add("Mul", {turned, r.sin})});
}

/// 0 where column <= row + past, the least float elsewhere: (1, 1, length, total).
Value causal_mask(Net& net, const Value& places, const Value& total) {
  const Value columns = net.add("Range", {net.integer(0), total, net.integer(1)});
  const Value rows = unsqueeze(net, places, {1});
  const Value later = net.add("Greater", {unsqueeze(net, columns, {0}), rows});
  const Value least = net.number(-3.4e38f);
  const Value mask = net.add("Where", {later, least, net.number(0)});
  return unsqueeze(net, mask, {0, 1});
}

Value llama_layer(Net& net, const Value& x, const Rotary& r, const Value& mask, Cached* cached) {
  const Value normal = rms_norm(net, x, "input_layernorm");
  const auto project = [&](const char* name) {
    return to_heads(net, linear(net, normal, name, kHidden, kHidden, false));
  };
  const Value query = rotate(net, project("self_attn.q_proj"), r);
  cached->key = concat(net, {cached->key, rotate(net, project("self_attn.k_proj"), r)}, -2);
  cached->value = concat(net, {cached->value, project("self_attn.v_proj")}, -2);
  const Value product = net.add("MatMul", {query, transpose(net, cached->key, {0, 1, 3, 2})});
  const float root = std::sqrt(static_cast<float>(kSize));
  const Value scores = net.add("Add", {net.add("Div", {product, net.number(root)}), mask});
  const Value context =
      from_heads(net, net.add("MatMul", {softmax(net, scores, 3), cached->value}));
  const Value y =
      net.add("Add", {x, linear(net, context, "self_attn.o_proj", kHidden, kHidden, false)});
  const Value inner = rms_norm(net, y, "post_attention_layernorm");
  const Value gate = silu(net, linear(net, inner, "mlp.gate_proj", kHidden, 688, false));
  const Value up = linear(net, inner, "mlp.up_proj", kHidden, 688, false);
  return net.add(
      "Add", {y, linear(net, net.add("Mul", {gate, up}), "mlp.down_proj", 688, kHidden, false)});
}

}  // namespace

void gpt2(Net& net) {
  const Value ids = net.input("input_ids", kInt64, {"batch", "sequence"});
  std::vector<Cached> caches;
  for (int64_t i = 0; i < kLayers; ++i) caches.push_back(past(net, i));
  const Value before = extent(net, caches[0].key, 2);
  const Value total = net.add("Add", {extent(net, ids, 1), before});
  const Value places = unsqueeze(net, positions(net, before, total), {0});
  Value x = net.add("Add", {embedding(net, ids, "transformer.wte", kVocabulary, kHidden),
                            embedding(net, places, "transformer.wpe", 256, kHidden)});
  for (int64_t i = 0; i < kLayers; ++i) {
    const Module module(net, fmt::format("transformer.h.{}", i));
    x = gpt2_layer(net, x, &caches[static_cast<size_t>(i)]);
  }
  x = layer_norm(net, x, "transformer.ln_f", kHidden);
  const Value logits = linear(net, x, "lm_head", kHidden, kVocabulary, false);
  net.output("logits", logits, kFloat, {"batch", "sequence", kVocabulary});
  for (int64_t i = 0; i < kLayers; ++i) present(net, i, caches[static_cast<size_t>(i)]);
}

void llama(Net& net) {
  const Value ids = net.input("input_ids", kInt64, {"batch", "sequence"});
  std::vector<Cached> caches;
  for (int64_t i = 0; i < kLayers; ++i) caches.push_back(past(net, i));
  const Value before = extent(net, caches[0].key, 2);
  const Value total = net.add("Add", {extent(net, ids, 1), before});
  const Value places = positions(net, before, total);
  const Rotary angles = rotary(net, places);
  const Value mask = causal_mask(net, places, total);
  Value x = embedding(net, ids, "model.embed_tokens", kVocabulary, kHidden);
  for (int64_t i = 0; i < kLayers; ++i) {
    const Module module(net, fmt::format("model.layers.{}", i));
    x = llama_layer(net, x, angles, mask, &caches[static_cast<size_t>(i)]);
  }
  x = rms_norm(net, x, "model.norm");
  const Value logits = linear(net, x, "lm_head", kHidden, kVocabulary, false);
  net.output("logits", logits, kFloat, {"batch", "sequence", kVocabulary});
  for (int64_t i = 0; i < kLayers; ++i) present(net, i, caches[static_cast<size_t>(i)]);
}

}  // namespace reverie::zoo
