#include <fmt/format.h>

#include <cmath>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

namespace reverie::zoo {
namespace {

Value reflected(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
                int64_t kernel, int64_t stride) {
  const Module module(net, name);
  const int64_t p = kernel / 2;
  const Value padded = pad(net, x, {0, 0, p, p, 0, 0, p, p}, "reflect");
  return conv(net, padded, "conv2d", inputs, outputs, {.kernel = kernel, .stride = stride});
}

Value style_layer(Net& net, const Value& x, const std::string& name, int64_t inputs,
                  int64_t outputs, int64_t kernel, int64_t stride) {
  const Value y = reflected(net, x, name, inputs, outputs, kernel, stride);
  return relu(net, instance_norm(net, y, name + "_in", outputs));
}

/// torch.nn.PixelShuffle before there was DepthToSpace in its order: two Reshapes and a Transpose.
Value pixel_shuffle(Net& net, const Value& x, int64_t channels, int64_t side) {
  const Value apart = reshape(net, x, {-1, channels, 2, 2, side, side});
  const Value mixed = transpose(net, apart, {0, 1, 4, 2, 5, 3});
  return reshape(net, mixed, {-1, channels, 2 * side, 2 * side});
}

Value leaky(Net& net, const Value& x) { return net.add("LeakyRelu", {x}, {{"alpha", 0.2f}}); }

/// Group normalization and SiLU in front of two convolutions, the step's embedding between.
Value diffusion_block(Net& net, const Value& x, const Value& step, const std::string& name,
                      int64_t inputs, int64_t outputs) {
  const Module module(net, name);
  const Window window = {.kernel = 3, .pad = 1};
  Value y = silu(net, group_norm(net, x, "norm1", 8, inputs, 2));
  y = conv(net, y, "conv1", inputs, outputs, window);
  const Value moved = gemm(net, silu(net, step), "time_emb_proj", 128, outputs);
  y = net.add("Add", {y, unsqueeze(net, unsqueeze(net, moved, {2}), {3})});
  y = silu(net, group_norm(net, y, "norm2", 8, outputs, 2));
  y = conv(net, y, "conv2", outputs, outputs, window);
  const Value skip = inputs == outputs ? x : conv(net, x, "conv_shortcut", inputs, outputs, {});
  return net.add("Add", {skip, y});
}

/// Sines and cosines of the step.
Value step_embedding(Net& net, const Value& step) {
  const Module module(net, "time_embedding");
  Floats frequencies;
  for (int i = 0; i < 32; ++i)
    frequencies.push_back(std::pow(10000.0f, -static_cast<float>(i) / 32));
  const Value table = net.constant(floats_tensor({1, 32}, frequencies));
  const Value column = cast(net, unsqueeze(net, step, {1}), kFloat);
  const Value angles = net.add("Mul", {column, table});
  const Value waves = concat(net, {net.add("Sin", {angles}), net.add("Cos", {angles})}, -1);
  return gemm(net, silu(net, gemm(net, waves, "linear_1", 64, 128)), "linear_2", 128, 128);
}

}  // namespace

void dcgan(Net& net) {
  Value x = net.input("z", kFloat, {"batch", 100, 1, 1});
  int64_t inputs = 100;
  int index = 0;
  for (const int64_t width : {512, 256, 128, 64}) {
    const Module module(net, fmt::format("main.{}", index++));
    const Window window = inputs == 100 ? Window{.kernel = 4, .bias = false}
                                        : Window{.kernel = 4, .stride = 2, .pad = 1, .bias = false};
    x = conv_transpose(net, x, "0", inputs, width, window);
    x = relu(net, batch_norm(net, x, "1", width));
    inputs = width;
  }
  x = conv_transpose(net, x, "main.last", inputs, 3,
                     {.kernel = 4, .stride = 2, .pad = 1, .bias = false});
  net.output("image", net.add("Tanh", {x}), kFloat, {"batch", 3, 64, 64});
}

void style_transfer(Net& net) {
  Value x = net.input("input1", kFloat, {1, 3, 96, 96});
  x = style_layer(net, x, "conv1", 3, 32, 9, 1);
  x = style_layer(net, x, "conv2", 32, 64, 3, 2);
  x = style_layer(net, x, "conv3", 64, 128, 3, 2);
  for (int i = 0; i < 3; ++i) {
    const Module module(net, fmt::format("res{}", i));
    const Value y = style_layer(net, x, "conv1", 128, 128, 3, 1);
    const Value z = instance_norm(net, reflected(net, y, "conv2", 128, 128, 3, 1), "in2", 128);
    x = net.add("Add", {z, x});
  }
  x = style_layer(net, upsample(net, x, 2, "nearest"), "deconv1", 128, 64, 3, 1);
  x = style_layer(net, upsample(net, x, 2, "nearest"), "deconv2", 64, 32, 3, 1);
  net.output("output1", reflected(net, x, "deconv3", 32, 3, 9, 1), kFloat, {1, 3, 96, 96});
}

void super_resolution(Net& net) {
  Value x = net.input("input", kFloat, {"batch", 1, 96, 96});
  x = relu(net, conv(net, x, "conv1", 1, 64, {.kernel = 5, .pad = 2}));
  x = relu(net, conv(net, x, "conv2", 64, 64, {.kernel = 3, .pad = 1}));
  x = relu(net, conv(net, x, "conv3", 64, 32, {.kernel = 3, .pad = 1}));
  x = conv(net, x, "conv4", 32, 9, {.kernel = 3, .pad = 1});
  x = net.add("DepthToSpace", {x}, {{"blocksize", int64_t{3}}, {"mode", std::string("CRD")}});
  net.output("output", x, kFloat, {"batch", 1, 288, 288});
}

void srgan(Net& net) {
  constexpr int64_t kWidth = 32, kSide = 48;
  const Value image = net.input("input", kFloat, {1, 3, kSide, kSide});
  const Value wide = conv(net, image, "block1", 3, kWidth, {.kernel = 9, .pad = 4});
  const Value first = net.add("PRelu", {wide, net.positive("block1.slope", {kWidth, 1, 1})});
  Value x = first;
  for (int i = 0; i < 3; ++i) {
    const Module module(net, fmt::format("block{}", i + 2));
    Value y = batch_norm(net, conv(net, x, "conv1", kWidth, kWidth, same(3)), "bn1", kWidth);
    y = net.add("PRelu", {y, net.positive("prelu", {kWidth, 1, 1})});
    y = batch_norm(net, conv(net, y, "conv2", kWidth, kWidth, same(3)), "bn2", kWidth);
    x = net.add("Add", {x, y});
  }
  x = net.add("Add", {first, conv(net, x, "block7", kWidth, kWidth, {.kernel = 3, .pad = 1})});
  x = conv(net, x, "up", kWidth, 4 * kWidth, {.kernel = 3, .pad = 1});
  x = leaky(net, pixel_shuffle(net, x, kWidth, kSide));
  x = conv(net, x, "block8", kWidth, 3, {.kernel = 9, .pad = 4});
  const Value sum = net.add("Add", {net.add("Tanh", {x}), net.number(1)});
  net.output("output", net.add("Div", {sum, net.number(2)}), kFloat, {1, 3, 2 * kSide, 2 * kSide});
}

void diffusion_unet(Net& net) {
  const Value sample = net.input("sample", kFloat, {1, 4, 32, 32});
  const Value step = step_embedding(net, net.input("timestep", kInt64, {1}));
  const Window window = {.kernel = 3, .pad = 1};
  Value x = conv(net, sample, "conv_in", 4, 64, window);
  const Value fine = diffusion_block(net, x, step, "down.0", 64, 64);
  x = conv(net, fine, "downsample", 64, 64, {.kernel = 3, .stride = 2, .pad = 1});
  const Value coarse = diffusion_block(net, x, step, "down.1", 64, 128);
  const Value rows = transpose(net, reshape(net, coarse, {1, 128, 256}), {0, 2, 1});
  const Value attended =
      attention(net, layer_norm(net, rows, "mid.norm", 128), "mid.attention",
                {.hidden = 128, .heads = 4, .mask = {}, .divide = false, .by_shape = false});
  const Value mixed = net.add("Add", {rows, attended});
  const Value back = reshape(net, transpose(net, mixed, {0, 2, 1}), {1, 128, 16, 16});
  x = diffusion_block(net, concat(net, {back, coarse}, 1), step, "up.0", 256, 64);
  x = upsample(net, x, 2, "nearest");
  x = diffusion_block(net, concat(net, {x, fine}, 1), step, "up.1", 128, 64);
  x = silu(net, group_norm(net, x, "conv_norm_out", 8, 64, 2));
  net.output("out_sample", conv(net, x, "conv_out", 64, 4, window), kFloat, {1, 4, 32, 32});
}

void autoencoder(Net& net) {
  Value x = net.input("input", kFloat, {"batch", 1, 64, 64});
  int64_t inputs = 1;
  for (const int64_t width : {32, 64, 128}) {
    const Module module(net, fmt::format("encoder.{}", width));
    x = relu(net, conv(net, x, "conv", inputs, width, {.kernel = 3, .stride = 2, .pad = 1}));
    inputs = width;
  }
  const Value flat = net.add("Flatten", {x}, {{"axis", int64_t{1}}});
  const Value mean = gemm(net, flat, "mu", 128 * 64, 64);
  x = relu(net, gemm(net, net.add("Identity", {mean}), "decoder.fc", 64, 128 * 64));
  x = view(net, x, {extent(net, x, 0), net.integer(128), net.integer(8), net.integer(8)});
  for (const int64_t width : {64, 32, 1}) {
    const Module module(net, fmt::format("decoder.{}", width));
    x = conv_transpose(net, x, "deconv", inputs, width, {.kernel = 4, .stride = 2, .pad = 1});
    x = width == 1 ? sigmoid(net, x) : relu(net, x);
    inputs = width;
  }
  net.output("reconstruction", x, kFloat, {"batch", 1, 64, 64});
  net.output("code", mean, kFloat, {"batch", 64});
}

}  // namespace reverie::zoo
