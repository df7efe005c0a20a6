#include <fmt/format.h>

#include <cmath>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

/// Vision networks whose activations have their channels last.
namespace reverie::zoo {
namespace {

/// Liu et al. 2022: depthwise convolution, then a feed-forward part on transposed axes.
Value convnext_block(Net& net, const Value& x, int64_t width) {
  const Window window = {.kernel = 7, .pad = 3, .groups = width};
  Value y = transpose(net, conv(net, x, "dwconv", width, width, window), {0, 2, 3, 1});
  y = layer_norm(net, y, "norm", width, 1e-6f);
  y = gelu(net, linear(net, y, "pwconv1", width, 4 * width));
  y = linear(net, y, "pwconv2", 4 * width, width);
  y = net.add("Mul", {net.positive("gamma", {width}), y});
  return net.add("Add", {x, transpose(net, y, {0, 3, 1, 2})});
}

/// Normalization over the channels where they are the second axis.
Value norm_first(Net& net, const Value& x, const std::string& name, int64_t width) {
  const Module module(net, name);
  const Value centred = net.add("Sub", {x, reduce(net, "ReduceMean", x, {1})});
  const Value variance = reduce(net, "ReduceMean", net.add("Pow", {centred, net.number(2)}), {1});
  const Value root = net.add("Sqrt", {net.add("Add", {variance, net.number(1e-6f)})});
  const Value normal = net.add("Div", {centred, root});
  const Value scale = unsqueeze(net, net.positive("weight", {width}), {1, 2});
  const Value offset = unsqueeze(net, net.offset("bias", width), {1, 2});
  return net.add("Add", {net.add("Mul", {scale, normal}), offset});
}

// Swin (Liu et al. 2021).

struct Grid {
  int64_t side, channels, heads;
};
constexpr int64_t kWindow = 7;
constexpr int64_t kShift = 3;

/// torch.roll on axes 1 and 2.
Value roll(Net& net, const Value& x, int64_t by) {
  Value y = x;
  for (const int64_t axis : {1, 2})
    y = concat(net, {slice(net, y, axis, by, INT64_MAX), slice(net, y, axis, 0, by)}, axis);
  return y;
}

/// (batch, side, side, c) to (windows, 49, c).
Value partition(Net& net, const Value& x, const Grid& g) {
  const int64_t count = g.side / kWindow;
  const Value apart = view(net, x,
                           {extent(net, x, 0), net.integer(count), net.integer(kWindow),
                            net.integer(count), net.integer(kWindow), net.integer(g.channels)});
  const Value swapped = transpose(net, apart, {0, 1, 3, 2, 4, 5});
  return reshape(net, swapped, {-1, kWindow * kWindow, g.channels});
}

Value merge(Net& net, const Value& windows, const Grid& g) {
  const int64_t count = g.side / kWindow;
  const Value apart = reshape(net, windows, {-1, count, count, kWindow, kWindow, g.channels});
  return reshape(net, transpose(net, apart, {0, 1, 3, 2, 4, 5}), {-1, g.side, g.side, g.channels});
}

/// -100 between positions that the shift has brought together: (windows, 49, 49).
onnx::TensorProto shift_mask(const Grid& g) {
  const int64_t count = g.side / kWindow;
  const auto region = [&](int64_t place) {
    return place < g.side - kWindow ? 0 : place < g.side - kShift ? 1 : 2;
  };
  Floats mask;
  for (int64_t w = 0; w < count * count; ++w) {
    const auto label = [&](int64_t i) {
      return 3 * region(w / count * kWindow + i / kWindow) +
             region(w % count * kWindow + i % kWindow);
    };
    for (int64_t i = 0; i < kWindow * kWindow; ++i)
      for (int64_t j = 0; j < kWindow * kWindow; ++j)
        mask.push_back(label(i) == label(j) ? 0.0f : -100.0f);
  }
  return floats_tensor({count * count, kWindow * kWindow, kWindow * kWindow}, mask);
}

/// The bias of each head for two positions of a window, from a table of distances.
Value distance_bias(Net& net, int64_t heads) {
  constexpr int64_t kSpan = 2 * kWindow - 1;
  Ints index;
  for (int64_t i = 0; i < kWindow * kWindow; ++i)
    for (int64_t j = 0; j < kWindow * kWindow; ++j)
      index.push_back((i / kWindow - j / kWindow + kWindow - 1) * kSpan +
                      (i % kWindow - j % kWindow + kWindow - 1));
  const Value table = net.weight("relative_position_bias_table", {kSpan * kSpan, heads}, 4);
  const int64_t count = static_cast<int64_t>(index.size());
  const Value flat = net.initializer("relative_position_index", ints_tensor({count}, index));
  const Value picked = net.add("Gather", {table, flat});
  const Value square = reshape(net, picked, {kWindow * kWindow, kWindow * kWindow, -1});
  return unsqueeze(net, transpose(net, square, {2, 0, 1}), {0});
}

Value masked(Net& net, const Value& scores, const Grid& g) {
  const int64_t count = g.side / kWindow * (g.side / kWindow);
  const int64_t area = kWindow * kWindow;
  const Value mask = net.initializer("attn_mask", shift_mask(g));
  const Value rows = net.add("Div", {extent(net, scores, 0), net.integer(count)});
  const Value apart =
      view(net, scores,
           {rows, net.integer(count), net.integer(g.heads), net.integer(area), net.integer(area)});
  const Value sum = net.add("Add", {apart, unsqueeze(net, unsqueeze(net, mask, {1}), {0})});
  return reshape(net, sum, {-1, g.heads, area, area});
}

Value window_attention(Net& net, const Value& x, const Grid& g, bool shifted) {
  const int64_t area = kWindow * kWindow;
  const int64_t size = g.channels / g.heads;
  const Value packed = linear(net, x, "qkv", g.channels, 3 * g.channels);
  const Value apart = view(net, packed,
                           {extent(net, x, 0), net.integer(area), net.integer(3),
                            net.integer(g.heads), net.integer(size)});
  const Value heads = transpose(net, apart, {2, 0, 3, 1, 4});
  const auto part = [&](int64_t i) {
    return net.add("Gather", {heads, net.integer(i)}, {{"axis", int64_t{0}}});
  };
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  const Value query = net.add("Mul", {part(0), net.number(scale)});
  const Value key = transpose(net, part(1), {0, 1, 3, 2});
  Value scores = net.add("Add", {net.add("MatMul", {query, key}), distance_bias(net, g.heads)});
  if (shifted) scores = masked(net, scores, g);
  const Value context = net.add("MatMul", {softmax(net, scores, 3), part(2)});
  const Value joined = view(net, transpose(net, context, {0, 2, 1, 3}),
                            {extent(net, x, 0), net.integer(area), net.integer(g.channels)});
  return linear(net, joined, "proj", g.channels, g.channels);
}

Value swin_block(Net& net, const Value& x, const Grid& g, bool shifted) {
  Value y = layer_norm(net, x, "norm1", g.channels);
  if (shifted) y = roll(net, y, kShift);
  y = window_attention(net, partition(net, y, g), g, shifted);
  y = merge(net, y, g);
  if (shifted) y = roll(net, y, g.side - kShift);
  const Value sum = net.add("Add", {x, y});
  const Value normal = layer_norm(net, sum, "norm2", g.channels);
  const Value up = gelu(net, linear(net, normal, "mlp.0", g.channels, 4 * g.channels));
  return net.add("Add", {sum, linear(net, up, "mlp.3", 4 * g.channels, g.channels)});
}

/// Four neighbours become one of twice the channels.
Value patch_merging(Net& net, const Value& x, int64_t channels) {
  Values parts;
  constexpr int64_t kOffsets[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  for (const auto& [row, col] : kOffsets) {
    const Value rows = slice(net, x, 1, row, INT64_MAX, 2);
    parts.push_back(slice(net, rows, 2, col, INT64_MAX, 2));
  }
  const Value normal = layer_norm(net, concat(net, parts, -1), "norm", 4 * channels);
  return linear(net, normal, "reduction", 4 * channels, 2 * channels, false);
}

}  // namespace

void convnext(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 128, 128});
  const std::vector<std::pair<int64_t, int64_t>> stages = {{64, 1}, {128, 1}, {256, 3}, {512, 1}};
  Value x = conv(net, image, "downsample_layers.0", 3, 64, {.kernel = 4, .stride = 4});
  x = norm_first(net, x, "downsample_layers.0.norm", 64);
  int64_t inputs = 64;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const auto [width, count] = stages[stage];
    if (stage > 0) {
      const Module module(net, fmt::format("downsample_layers.{}", stage));
      x = conv(net, norm_first(net, x, "0", inputs), "1", inputs, width,
               {.kernel = 2, .stride = 2});
    }
    for (int64_t i = 0; i < count; ++i) {
      const Module module(net, fmt::format("stages.{}.{}", stage, i));
      x = convnext_block(net, x, width);
    }
    inputs = width;
  }
  x = layer_norm(net, reduce(net, "ReduceMean", x, {-2, -1}, false), "norm", 512, 1e-6f);
  net.output("output", gemm(net, x, "head", 512, 1000), kFloat, {"batch", 1000});
}

void swin(Net& net) {
  Grid grid = {28, 96, 3};
  const Value image = net.input("input", kFloat, {"batch", 3, 112, 112});
  const Value patches = conv(net, image, "features.0.0", 3, 96, {.kernel = 4, .stride = 4});
  Value x = layer_norm(net, transpose(net, patches, {0, 2, 3, 1}), "features.0.2", 96);
  for (int stage = 0; stage < 2; ++stage) {
    for (const bool shifted : {false, true}) {
      const Module module(net, fmt::format("features.{}.{}", 2 * stage + 1, shifted ? 1 : 0));
      x = swin_block(net, x, grid, shifted);
    }
    if (stage == 1) break;
    const Module module(net, fmt::format("features.{}", 2 * stage + 2));
    x = patch_merging(net, x, grid.channels);
    grid = {grid.side / 2, 2 * grid.channels, 2 * grid.heads};
  }
  x = layer_norm(net, x, "norm", grid.channels);
  const Value mean = pooled(net, transpose(net, x, {0, 3, 1, 2}));
  net.output("output", gemm(net, mean, "head", grid.channels, 1000), kFloat, {"batch", 1000});
}

}  // namespace reverie::zoo
