#include <fmt/format.h>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

/// Networks on sound, video and points.
namespace reverie::zoo {
namespace {

Value conv1d(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
             Window window) {
  window.rank = 1;
  return conv(net, x, name, inputs, outputs, window);
}

/// Depthwise and pointwise convolution with normalization (Kriman et al. 2019).
Value separable(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
                int64_t kernel) {
  const Module module(net, name);
  Value y = conv1d(net, x, "0", inputs, inputs, same(kernel, 1, inputs));
  y = conv1d(net, y, "1", inputs, outputs, same(1));
  return batch_norm(net, y, "2", outputs, 1e-3f);
}

Value r3d_block(Net& net, const Value& x, int64_t inputs, int64_t outputs, int64_t stride) {
  const auto norm = [&](const Value& y, const char* name, int64_t from, int64_t kernel,
                        int64_t step) {
    const Module module(net, name);
    Window window = same(kernel, step);
    window.rank = 3;
    return batch_norm(net, conv(net, y, "0", from, outputs, window), "1", outputs);
  };
  Value y = relu(net, norm(x, "conv1", inputs, 3, stride));
  y = norm(y, "conv2", outputs, 3, 1);
  const Value skip = inputs == outputs ? x : norm(x, "downsample", inputs, 1, stride);
  return relu(net, net.add("Add", {y, skip}));
}

Value encoder_layer(Net& net, const Value& x, int64_t hidden) {
  const Value attended =
      attention(net, x, "attention",
                {.hidden = hidden, .heads = 4, .mask = {}, .divide = false, .by_shape = true});
  const Value y = layer_norm(net, net.add("Add", {x, attended}), "layer_norm", hidden);
  const Value up = gelu(net, linear(net, y, "feed_forward.up", hidden, 4 * hidden));
  const Value down = linear(net, up, "feed_forward.down", 4 * hidden, hidden);
  return layer_norm(net, net.add("Add", {y, down}), "final_layer_norm", hidden);
}

/// PointNet's convolutions of one point each.
Value shared(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs) {
  const Module module(net, name);
  return relu(net, batch_norm(net, conv1d(net, x, "conv", inputs, outputs, {}), "bn", outputs));
}

/// A learned change of coordinates: x (batch, size, points) times a size x size matrix of its own.
Value transformed(Net& net, const Value& x, const std::string& name, int64_t size) {
  const Module module(net, name);
  Value y = shared(net, shared(net, x, "1", size, 64), "2", 64, 256);
  y = reduce(net, "ReduceMax", y, {2}, false);
  y = relu(net, gemm(net, y, "fc1", 256, 128));
  y = gemm(net, y, "fc2", 128, size * size);
  Floats identity(static_cast<size_t>(size * size), 0);
  for (int64_t i = 0; i < size; ++i) identity[static_cast<size_t>(i * size + i)] = 1;
  y = net.add("Add", {y, net.constant(floats_tensor({1, size * size}, identity))});
  const Value matrix = view(net, y, {extent(net, y, 0), net.integer(size), net.integer(size)});
  return transpose(net, net.add("MatMul", {transpose(net, x, {0, 2, 1}), matrix}), {0, 2, 1});
}

}  // namespace

void wav2vec2(Net& net) {
  constexpr int64_t kHidden = 256;
  const Value wave = net.input("input_values", kFloat, {1, 8000});
  Value x = unsqueeze(net, wave, {1});
  constexpr int64_t kWindows[5][2] = {{10, 5}, {3, 2}, {3, 2}, {3, 2}, {2, 2}};
  int64_t inputs = 1;
  for (int i = 0; i < 5; ++i) {
    const Module module(net, fmt::format("feature_extractor.conv_layers.{}", i));
    const auto [kernel, stride] = kWindows[i];
    x = conv1d(net, x, "conv", inputs, 128, {.kernel = kernel, .stride = stride, .bias = false});
    if (i == 0) x = group_norm(net, x, "layer_norm", 128, 128, 1);
    x = gelu(net, x);
    inputs = 128;
  }
  x = layer_norm(net, transpose(net, x, {0, 2, 1}), "feature_projection.layer_norm", 128);
  x = linear(net, x, "feature_projection.projection", 128, kHidden);
  Value place = conv1d(net, transpose(net, x, {0, 2, 1}), "pos_conv_embed.conv", kHidden, kHidden,
                       {.kernel = 16, .pad = 8, .groups = 8});
  place = gelu(net, slice(net, place, 2, 0, -1));
  x = layer_norm(net, net.add("Add", {x, transpose(net, place, {0, 2, 1})}), "encoder.layer_norm",
                 kHidden);
  for (int i = 0; i < 2; ++i) {
    const Module module(net, fmt::format("encoder.layers.{}", i));
    x = encoder_layer(net, x, kHidden);
  }
  const Value logits = linear(net, x, "lm_head", kHidden, 32);
  net.output("logits", logits, kFloat, {1, "frames", 32});
}

void quartznet(Net& net) {
  Value x = net.input("audio_signal", kFloat, {"batch", 64, 256});
  x = relu(net, batch_norm(net, conv1d(net, x, "stem", 64, 128, same(33, 2)), "stem_bn", 128));
  for (int i = 0; i < 3; ++i) {
    const Module module(net, fmt::format("encoder.{}", i));
    Value y = x;
    for (int j = 0; j < 3; ++j) {
      y = separable(net, y, fmt::format("mconv.{}", j), 128, 128, 33);
      if (j < 2) y = relu(net, y);
    }
    const Module residual(net, "res");
    const Value skip = batch_norm(net, conv1d(net, x, "0", 128, 128, same(1)), "1", 128, 1e-3f);
    x = relu(net, net.add("Add", {y, skip}));
  }
  const Value logits = transpose(net, conv1d(net, x, "decoder", 128, 29, {}), {0, 2, 1});
  net.output("logprobs", net.add("LogSoftmax", {logits}, {{"axis", int64_t{2}}}), kFloat,
             {"batch", 128, 29});
}

void r3d(Net& net) {
  const Value video = net.input("input", kFloat, {"batch", 3, 8, 56, 56});
  Window stem = same(3, 2);
  stem.rank = 3;
  Value x = relu(net, batch_norm(net, conv(net, video, "stem.0", 3, 32, stem), "stem.1", 32));
  int64_t inputs = 32;
  int index = 0;
  for (const int64_t width : {32, 64, 128, 256}) {
    const Module module(net, fmt::format("layer{}.0", ++index));
    x = r3d_block(net, x, inputs, width, width == 32 ? 1 : 2);
    inputs = width;
  }
  x = flatten_by_shape(net, net.add("GlobalAveragePool", {x}));
  net.output("output", gemm(net, x, "fc", 256, 400), kFloat, {"batch", 400});
}

void pointnet(Net& net) {
  Value x = net.input("points", kFloat, {1, 3, 512});
  x = shared(net, transformed(net, x, "stn", 3), "feat1", 3, 64);
  x = transformed(net, x, "fstn", 64);
  const Value local = x;
  x = shared(net, shared(net, x, "feat2", 64, 128), "feat3", 128, 512);
  const Value global = reduce(net, "ReduceMax", x, {2});
  const Value count =
      net.add("Concat",
              {net.ints({1, 512}),
               net.add("Slice", {net.add("Shape", {local}), net.ints({2}), net.ints({3})})},
              {{"axis", int64_t{0}}});
  x = concat(net, {net.add("Expand", {global, count}), local}, 1);
  x = shared(net, shared(net, x, "head1", 576, 256), "head2", 256, 128);
  const Value logits = transpose(net, conv1d(net, x, "head3", 128, 50, {}), {0, 2, 1});
  net.output("output", net.add("LogSoftmax", {logits}, {{"axis", int64_t{-1}}}), kFloat,
             {1, 512, 50});
}

}  // namespace reverie::zoo
