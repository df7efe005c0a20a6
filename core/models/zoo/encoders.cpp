#include <fmt/format.h>

#include <cmath>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

namespace reverie::zoo {
namespace {

/// (1 - mask) * least for the scores, from 0s and 1s per token.
Value mask_of(Net& net, const Value& mask, float least) {
  const Value wide = unsqueeze(net, unsqueeze(net, mask, {1}), {2});
  const Value number = cast(net, wide, net.floating());
  return net.add("Mul", {net.add("Sub", {net.number(1), number}), net.number(least)});
}

struct Layer {
  int64_t hidden, heads, inner;
  bool by_shape = true;
};

/// Devlin et al. 2018: normalization behind each sum.
Value post_norm(Net& net, const Value& x, const Value& mask, const Layer& o) {
  const Value attended =
      attention(net, x, "attention",
                {.hidden = o.hidden, .heads = o.heads, .mask = mask, .by_shape = o.by_shape});
  const Value y = layer_norm(net, net.add("Add", {attended, x}), "attention.norm", o.hidden, 1e-5f);
  const Value up = gelu(net, linear(net, y, "intermediate", o.hidden, o.inner));
  const Value down = linear(net, up, "output", o.inner, o.hidden);
  return layer_norm(net, net.add("Add", {down, y}), "norm", o.hidden, 1e-5f);
}

/// Dosovitskiy et al. 2020: normalization in front.
Value pre_norm(Net& net, const Value& x, const Layer& o) {
  const Value attended = attention(
      net, layer_norm(net, x, "norm1", o.hidden), "attn",
      {.hidden = o.hidden, .heads = o.heads, .mask = {}, .divide = false, .by_shape = o.by_shape});
  const Value y = net.add("Add", {x, attended});
  const Value up =
      gelu(net, linear(net, layer_norm(net, y, "norm2", o.hidden), "fc1", o.hidden, o.inner));
  return net.add("Add", {y, linear(net, up, "fc2", o.inner, o.hidden)});
}

/// The first `length` of the positions that the model was trained with.
Value positions(Net& net, const Value& ids, int64_t most, int64_t hidden) {
  Ints all(static_cast<size_t>(most));
  for (int64_t i = 0; i < most; ++i) all[static_cast<size_t>(i)] = i;
  const Value table = net.initializer("position_ids", ints_tensor({1, most}, all));
  const Value length = unsqueeze(net, extent(net, ids, 1), {0});
  const Value picked =
      net.add("Slice", {table, net.ints({0}), length, net.ints({1}), net.ints({1})});
  return embedding(net, picked, "position_embeddings", most, hidden);
}

struct Encoder {
  int64_t layers;
  Layer layer;
  int64_t vocabulary, positions;
};

Value bert_encoder(Net& net, const Value& ids, const Value& types, const Value& mask,
                   const Encoder& o) {
  const int64_t hidden = o.layer.hidden;
  Value x;
  {
    const Module module(net, "embeddings");
    const Value words = embedding(net, ids, "word_embeddings", o.vocabulary, hidden);
    x = types.empty()
            ? words
            : net.add("Add", {words, embedding(net, types, "token_type_embeddings", 2, hidden)});
    x = net.add("Add", {x, positions(net, ids, o.positions, hidden)});
    x = layer_norm(net, x, "norm", hidden, 1e-5f);
  }
  const Value scores = mask_of(net, mask, -10000);
  for (int64_t i = 0; i < o.layers; ++i) {
    const Module module(net, fmt::format("encoder.layer.{}", i));
    x = post_norm(net, x, scores, o.layer);
  }
  return x;
}

// T5 (Raffel et al. 2019).

Value rms_norm(Net& net, const Value& x, const std::string& name, int64_t size) {
  const Module module(net, name);
  const Value square = net.add("Pow", {x, net.number(2)});
  const Value variance = reduce(net, "ReduceMean", square, {-1});
  const Value root = net.add("Sqrt", {net.add("Add", {variance, net.number(1e-6f)})});
  const Value normal = net.add("Mul", {x, net.add("Div", {net.number(1), root})});
  return net.add("Mul", {net.positive("weight", {size}), normal});
}

/// range(length), by its Shape.
Value range(Net& net, const Value& ids) {
  return net.add("Range", {net.integer(0), extent(net, ids, 1), net.integer(1)});
}

/// The bucket of each distance between two positions: exact up to 8, logarithmic beyond.
Value relative_buckets(Net& net, const Value& ids) {
  const Value rows = unsqueeze(net, range(net, ids), {1});
  const Value distance = net.add("Sub", {unsqueeze(net, range(net, ids), {0}), rows});
  const Value right = cast(net, net.add("Greater", {distance, net.integer(0)}), kInt64);
  const Value side = net.add("Add", {net.add("Mul", {right, net.integer(16)}), net.integer(0)});
  const Value far = net.add("Abs", {distance});
  const Value ratio = net.add("Div", {cast(net, far, kFloat), net.number(8)});
  const Value steps = net.add("Div", {net.add("Log", {ratio}), net.number(std::log(16.0f))});
  const Value large =
      net.add("Add", {cast(net, net.add("Mul", {steps, net.number(8)}), kInt64), net.integer(8)});
  const Value bounded =
      net.add("Min", {large, net.add("Expand", {net.integer(15), net.add("Shape", {large})})});
  const Value near = net.add("Less", {far, net.integer(8)});
  return net.add("Add", {side, net.add("Where", {near, far, bounded})});
}

Value t5_layer(Net& net, const Value& x, const Value& bias, int64_t hidden, int64_t heads) {
  const int64_t size = hidden / heads;
  const Value normal = rms_norm(net, x, "layer.0.norm", hidden);
  const auto split = [&](const char* name, const Ints& perm) {
    const Value y = linear(net, normal, name, hidden, hidden, false);
    const Value apart =
        view(net, y, {extent(net, x, 0), net.integer(-1), net.integer(heads), net.integer(size)});
    return transpose(net, apart, perm);
  };
  const Value query = split("layer.0.q", {0, 2, 1, 3});
  const Value key = split("layer.0.k", {0, 2, 3, 1});
  const Value value = split("layer.0.v", {0, 2, 1, 3});
  const Value scores = net.add("Add", {net.add("MatMul", {query, key}), bias});
  const Value context =
      transpose(net, net.add("MatMul", {softmax(net, scores, 3), value}), {0, 2, 1, 3});
  const Value joined =
      view(net, context, {extent(net, x, 0), net.integer(-1), net.integer(hidden)});
  const Value y = net.add("Add", {x, linear(net, joined, "layer.0.o", hidden, hidden, false)});
  const Value inner = rms_norm(net, y, "layer.1.norm", hidden);
  const Value gate = gelu_tanh(net, linear(net, inner, "layer.1.wi_0", hidden, 2 * hidden, false));
  const Value up = linear(net, inner, "layer.1.wi_1", hidden, 2 * hidden, false);
  const Value down =
      linear(net, net.add("Mul", {gate, up}), "layer.1.wo", 2 * hidden, hidden, false);
  return net.add("Add", {y, down});
}

/// A strided convolution as tokens, (batch, tokens, hidden).
Value patches(Net& net, const Value& image, int64_t hidden, int64_t kernel) {
  const Value grid =
      conv(net, image, "patch_embed.proj", 3, hidden, {.kernel = kernel, .stride = kernel});
  const Value flat = view(net, grid, {extent(net, grid, 0), extent(net, grid, 1), net.integer(-1)});
  return transpose(net, flat, {0, 2, 1});
}

}  // namespace

void distilbert(Net& net) {
  const Value ids = net.input("input_ids", kInt64, {"batch", "sequence"});
  const Value mask = net.input("attention_mask", kInt64, {"batch", "sequence"});
  const Value x = bert_encoder(net, ids, {}, mask, {3, {256, 4, 1024}, 8000, 512});
  const Value first = net.add("Gather", {x, net.integer(0)}, {{"axis", int64_t{1}}});
  const Value hidden = relu(net, gemm(net, first, "pre_classifier", 256, 256));
  net.output("logits", gemm(net, hidden, "classifier", 256, 2), kFloat, {"batch", 2});
}

void bert_squad(Net& net) {
  const Value ids = net.input("input_ids", kInt64, {"batch", "sequence"});
  const Value mask = net.input("attention_mask", kInt64, {"batch", "sequence"});
  const Value types = net.input("token_type_ids", kInt64, {"batch", "sequence"});
  const Value x = bert_encoder(net, ids, types, mask, {2, {384, 6, 1536}, 4000, 512});
  const Values logits = split(net, linear(net, x, "qa_outputs", 384, 2), 2, {1, 1});
  const Value start = squeeze(net, logits[0], {-1});
  const Value end = squeeze(net, logits[1], {-1});
  net.output("start_logits", start, kFloat, {"batch", "sequence"});
  net.output("end_logits", end, kFloat, {"batch", "sequence"});
}

void bert_tiny_float16(Net& net) {
  const Value ids = net.input("input_ids", kInt64, {1, 64});
  const Value mask = net.input("attention_mask", kInt64, {1, 64});
  const Value types = net.input("token_type_ids", kInt64, {1, 64});
  const Value x = bert_encoder(net, ids, types, mask, {2, {128, 2, 512, false}, 2000, 128});
  const Value first = net.add("Gather", {x, net.integer(0)}, {{"axis", int64_t{1}}});
  const Value pooler = net.add("Tanh", {gemm(net, first, "pooler.dense", 128, 128)});
  net.output("last_hidden_state", x, kHalf, {1, 64, 128});
  net.output("pooler_output", pooler, kHalf, {1, 128});
}

void t5_encoder(Net& net) {
  constexpr int64_t kHidden = 256, kHeads = 4;
  const Value ids = net.input("input_ids", kInt64, {"batch", "sequence"});
  const Value mask = net.input("attention_mask", kInt64, {"batch", "sequence"});
  Value x = embedding(net, ids, "shared", 4000, kHidden);
  const Value buckets = relative_buckets(net, ids);
  const Value bias =
      transpose(net, embedding(net, buckets, "relative_attention_bias", 32, kHeads), {2, 0, 1});
  const Value both = net.add("Add", {unsqueeze(net, bias, {0}), mask_of(net, mask, -1e9f)});
  for (int i = 0; i < 3; ++i) {
    const Module module(net, fmt::format("encoder.block.{}", i));
    x = t5_layer(net, x, both, kHidden, kHeads);
  }
  x = rms_norm(net, x, "encoder.final_layer_norm", kHidden);
  net.output("last_hidden_state", x, kFloat, {"batch", "sequence", kHidden});
}

void deit(Net& net) {
  constexpr int64_t kHidden = 192;
  const Value image = net.input("pixel_values", kFloat, {"batch", 3, 224, 224});
  Value x = patches(net, image, kHidden, 16);
  const Value shape = shape_of(net, {extent(net, x, 0), net.integer(-1), net.integer(-1)});
  const Value one = net.constant(ints_tensor({3}, {1, 1, 1}));
  const Value wanted =
      net.add("Where", {net.add("Equal", {shape, net.ints({-1, -1, -1})}), one, shape});
  const Value token = net.add("Expand", {net.weight("cls_token", {1, 1, kHidden}, 1), wanted});
  x = concat(net, {token, x}, 1);
  x = net.add("Add", {x, net.weight("pos_embed", {1, 197, kHidden}, 25)});
  for (int i = 0; i < 4; ++i) {
    const Module module(net, fmt::format("blocks.{}", i));
    x = pre_norm(net, x, {kHidden, 3, 768});
  }
  x = layer_norm(net, x, "norm", kHidden);
  const Value first = net.add("Gather", {x, net.integer(0)}, {{"axis", int64_t{1}}});
  net.output("logits", gemm(net, first, "head", kHidden, 1000), kFloat, {"batch", 1000});
}

void clip_towers(Net& net) {
  const Value ids = net.input("input_ids", kInt64, {"text_batch", 32});
  const Value image = net.input("pixel_values", kFloat, {"image_batch", 3, 128, 128});
  Value words, picture;
  {
    const Module module(net, "text_model");
    words = net.add("Add", {embedding(net, ids, "token_embedding", 4000, 256),
                            net.weight("position_embedding", {32, 256}, 25)});
    for (int i = 0; i < 2; ++i) {
      const Module layer(net, fmt::format("layers.{}", i));
      words = pre_norm(net, words, {256, 4, 1024});
    }
    const Value narrow = cast(net, ids, kInt32);  // the runtime has no ArgMax of wider ones
    const Value last =
        net.add("ArgMax", {narrow}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}});
    const Value rows = net.add("Range", {net.integer(0), extent(net, ids, 0), net.integer(1)});
    const Value places = concat(net, {unsqueeze(net, rows, {1}), unsqueeze(net, last, {1})}, 1);
    words = linear(net, net.add("GatherND", {words, places}), "projection", 256, 128, false);
  }
  {
    const Module module(net, "vision_model");
    picture = patches(net, image, 256, 16);
    for (int i = 0; i < 2; ++i) {
      const Module layer(net, fmt::format("layers.{}", i));
      picture = pre_norm(net, picture, {256, 4, 1024});
    }
    const Value mean = reduce(net, "ReduceMean", picture, {1}, false);
    picture = linear(net, mean, "projection", 256, 128, false);
  }
  const auto normal = [&](const Value& x) {
    return net.add("Div", {x, reduce(net, "ReduceL2", x, {-1})});
  };
  const Value scale = net.add("Exp", {net.number(2.6593f)});
  const Value product = net.add("MatMul", {normal(words), transpose(net, normal(picture), {1, 0})});
  const Value logits = net.add("Mul", {product, scale});
  net.output("logits_per_text", logits, kFloat, {"text_batch", "image_batch"});
}

}  // namespace reverie::zoo
