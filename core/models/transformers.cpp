#include <cmath>

#include "core/base/error.h"
#include "core/models/builder.h"

namespace reverie::models {
namespace {

struct Heads {
  ValueId query, key, value;
};

ValueId attend(ModelBuilder& b, const Heads& heads, float divisor) {
  Graph& g = b.graph();
  const ValueId scores = g.add("MatMul", {heads.query, heads.key});
  const ValueId scaled = g.add("Div", {scores, b.scalar(divisor)});
  return g.add("MatMul", {g.add("Softmax", {scaled}), heads.value});
}

/// A post-norm encoder layer (Devlin et al. 2018) with separate projections.
ValueId bert_layer(ModelBuilder& b, ValueId x, const std::string& name) {
  const ModelOptions& o = b.options();
  const int64_t size = o.hidden / o.heads;
  const Shape packed = b.shape(x);
  const auto split = [&](const char* which, std::vector<int64_t> perm) {
    const ValueId projected = b.linear(x, name + which, o.hidden);
    return b.transpose(b.reshape(projected, {1, o.length, o.heads, size}), std::move(perm));
  };
  const Heads heads = {split(".query", {0, 2, 1, 3}), split(".key", {0, 2, 3, 1}),
                       split(".value", {0, 2, 1, 3})};
  const ValueId context = attend(b, heads, std::sqrt(static_cast<float>(size)));
  const ValueId joined = b.reshape(b.transpose(context, {0, 2, 1, 3}), packed);
  x = b.layer_norm(b.add(x, b.linear(joined, name + ".out", o.hidden)), name + ".norm1", 1e-5);
  const ValueId up = b.gelu(b.linear(x, name + ".up", o.inner));
  return b.layer_norm(b.add(x, b.linear(up, name + ".down", o.hidden)), name + ".norm2", 1e-5);
}

/// A pre-norm encoder layer (Dosovitskiy et al. 2020) with one packed projection that slices take
/// apart, as torchvision's MultiheadAttention exports it.
ValueId vit_attention(ModelBuilder& b, ValueId x, const std::string& name) {
  const ModelOptions& o = b.options();
  Graph& g = b.graph();
  const int64_t length = b.shape(x)[1];
  const int64_t size = o.hidden / o.heads;
  const ValueId packed = b.linear(b.transpose(x, {1, 0, 2}), name + ".in_proj", 3 * o.hidden);
  const auto part = [&](int64_t index, std::vector<int64_t> perm) {
    const ValueId slice = g.add("Slice", {packed},
                                {{"starts", std::vector<int64_t>{index * o.hidden}},
                                 {"ends", std::vector<int64_t>{(index + 1) * o.hidden}},
                                 {"axes", std::vector<int64_t>{2}}});
    return b.transpose(b.reshape(slice, {length, o.heads, size}), std::move(perm));
  };
  const ValueId divisor = b.scalar(std::sqrt(static_cast<float>(size)));
  const ValueId query = g.add("Div", {part(0, {1, 0, 2}), divisor});
  const ValueId scores = g.add("MatMul", {query, part(1, {1, 2, 0})});
  const ValueId context = g.add("MatMul", {g.add("Softmax", {scores}), part(2, {1, 0, 2})});
  const ValueId joined = b.reshape(b.transpose(context, {1, 0, 2}), {length, o.hidden});
  const ValueId out = b.gemm(joined, name + ".out_proj", o.hidden);
  return b.transpose(b.reshape(out, {length, 1, o.hidden}), {1, 0, 2});
}

ValueId vit_layer(ModelBuilder& b, ValueId x, const std::string& name) {
  constexpr double kEpsilon = 1e-6;
  const ValueId attended =
      vit_attention(b, b.layer_norm(x, name + ".ln_1", kEpsilon), name + ".self_attention");
  x = b.add(attended, x);
  const ValueId normal = b.layer_norm(x, name + ".ln_2", kEpsilon);
  const ValueId up = b.gelu(b.linear(normal, name + ".mlp.0", b.options().inner));
  return b.add(x, b.linear(up, name + ".mlp.3", b.options().hidden));
}

}  // namespace

Graph bert(const ModelOptions& options) {
  ModelBuilder b(options);
  Graph& g = b.graph();
  const ValueId ids = b.input("ids", {DType::kInt64, {1, options.length}});
  const ValueId tokens = b.weight("tokens.weight", {options.vocabulary, options.hidden}, 1);
  const ValueId positions = b.weight("positions.weight", {options.length, options.hidden}, 1);
  std::vector<int64_t> order(static_cast<size_t>(options.length));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  const ValueId index =
      g.add_constant(Weight::dense(Tensor::of<int64_t>({1, options.length}, order), "index"));
  ValueId x = b.add(g.add("Gather", {tokens, ids}), g.add("Gather", {positions, index}));
  x = b.layer_norm(x, "norm", 1e-5);
  for (int64_t i = 0; i < options.layers; ++i) x = bert_layer(b, x, fmt::format("layers.{}", i));
  return b.finish(x);
}

Graph vit(const ModelOptions& options) {
  constexpr int64_t kPatch = 16;
  if (options.image % kPatch != 0)
    throw InputError("image {} is no multiple of {}", options.image, kPatch);
  ModelBuilder b(options);
  Graph& g = b.graph();
  Window patches = valid(kPatch, kPatch);
  patches.bias = true;
  ValueId x = b.conv(b.image(), "conv_proj", options.hidden, patches);
  const int64_t count = b.shape(x)[2] * b.shape(x)[3];
  x = b.transpose(b.reshape(x, {1, options.hidden, count}), {0, 2, 1});
  x = b.concat({b.weight("class_token", {1, 1, options.hidden}, 1), x});
  x = b.add(x, b.weight("encoder.pos_embedding", {1, count + 1, options.hidden}, 1));
  for (int64_t i = 0; i < options.layers; ++i)
    x = vit_layer(b, x, fmt::format("encoder.layers.encoder_layer_{}", i));
  x = b.layer_norm(x, "encoder.ln", 1e-6);
  const ValueId first = g.add_constant(Weight::dense(Tensor::of<int64_t>({}, {0})));
  const ValueId token = g.add("Gather", {x, first}, {{"axis", int64_t{1}}});
  return b.finish(b.gemm(token, "heads.head", options.classes));
}

/// Attention without biases, scale or softmax. The product of three projections grows with the cube
/// of its input; the gains hold a layer's output at about the size of its input of size one.
Graph taso_bert(const ModelOptions& options) {
  ModelBuilder b(options);
  Graph& g = b.graph();
  const int64_t size = options.hidden / options.heads;
  ValueId x = b.relu(b.input("input", {DType::kFloat32, {options.length, options.hidden}}));
  const double spread = static_cast<double>(size * options.length);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string name = std::to_string(layer + 1);
    const auto split = [&](const char* which, std::vector<int64_t> perm) {
      const ValueId projected = b.product(x, name + which, options.hidden);
      return b.transpose(b.reshape(projected, {options.length, options.heads, size}),
                         std::move(perm));
    };
    const ValueId scores = g.add("MatMul", {split(".query", {1, 0, 2}), split(".key", {1, 2, 0})});
    const ValueId context = g.add("MatMul", {scores, split(".value", {1, 0, 2})});
    const ValueId joined =
        b.reshape(b.transpose(context, {1, 0, 2}), {options.length, options.hidden});
    x = b.product(joined, name + ".out", options.hidden, 1 / spread);
  }
  return b.finish(x);
}

}  // namespace reverie::models
