#include "core/models/zoo/mobile.h"

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

namespace reverie::zoo {
namespace {

void classify(Net& net, const Value& x, int64_t inputs) {
  net.output("output", gemm(net, x, "classifier", inputs, 1000), kFloat, {"batch", 1000});
}

/// A stage of `count` blocks, the first of which has the stride.
struct Stage {
  int64_t expand, outputs, count, stride;
  int64_t kernel = 3;
};

struct Style {
  Norm norm;
  Activation activation;
  bool excite = false;
};

/// Sandler et al. 2018; with squeeze and excitation Tan and Le 2019.
Value inverted_residual(Net& net, const Value& x, int64_t inputs, const Stage& stage,
                        int64_t stride, const Style& style) {
  const int64_t inner = inputs * stage.expand;
  Value y = x;
  if (stage.expand != 1)
    y = style.activation(net, conv_norm(net, y, "expand", inputs, inner, same(1), style.norm));
  y = style.activation(net, conv_norm(net, y, "depthwise", inner, inner,
                                      same(stage.kernel, stride, inner), style.norm));
  if (style.excite) y = squeeze_excite(net, y, "se", inner, inputs / 4, silu, sigmoid);
  y = conv_norm(net, y, "project", inner, stage.outputs, same(1), style.norm);
  return stride == 1 && inputs == stage.outputs ? net.add("Add", {x, y}) : y;
}

Value stages(Net& net, Value x, int64_t inputs, const std::vector<Stage>& list,
             const Style& style) {
  int index = 0;
  for (const Stage& stage : list) {
    for (int64_t i = 0; i < stage.count; ++i) {
      const Module module(net, "features." + std::to_string(++index));
      x = inverted_residual(net, x, inputs, stage, i == 0 ? stage.stride : 1, style);
      inputs = stage.outputs;
    }
  }
  return x;
}

/// A block of MobileNetV3: inputs, inner, outputs, kernel, stride.
struct Bneck {
  int64_t inputs, inner, outputs, kernel, stride;
  bool excite, hard;
};

Value bneck(Net& net, const Value& x, const Bneck& b) {
  const Activation activation = b.hard ? hard_swish : relu;
  Value y = x;
  if (b.inner != b.inputs)
    y = activation(net, conv_norm(net, y, "expand", b.inputs, b.inner, same(1), Norm::kKept));
  y = activation(net, conv_norm(net, y, "depthwise", b.inner, b.inner,
                                same(b.kernel, b.stride, b.inner), Norm::kKept));
  if (b.excite)
    y = squeeze_excite(net, y, "se", b.inner, (b.inner / 4 + 4) / 8 * 8, relu, hard_sigmoid);
  y = conv_norm(net, y, "project", b.inner, b.outputs, same(1), Norm::kKept);
  return b.stride == 1 && b.inputs == b.outputs ? net.add("Add", {x, y}) : y;
}

/// The channel shuffle of ShuffleNet with a symbolic batch.
Value shuffle(Net& net, const Value& x, int64_t channels) {
  const Value batch = extent(net, x, 0);
  const Value height = extent(net, x, 2);
  const Value width = extent(net, x, 3);
  const Value apart =
      view(net, x, {batch, net.integer(2), net.integer(channels / 2), height, width});
  const Value swapped = transpose(net, apart, {0, 2, 1, 3, 4});
  return view(net, swapped, {batch, net.integer(-1), height, width});
}

/// Three convolutions of ShuffleNet's right branch.
Value shuffle_branch(Net& net, Value x, int64_t inputs, int64_t outputs, int64_t stride) {
  x = relu(net, conv_norm(net, x, "branch2.0", inputs, outputs, same(1), Norm::kKept));
  x = conv_norm(net, x, "branch2.1", outputs, outputs, same(3, stride, outputs), Norm::kKept);
  return relu(net, conv_norm(net, x, "branch2.2", outputs, outputs, same(1), Norm::kKept));
}

Value shuffle_unit(Net& net, const Value& x, int64_t inputs, int64_t outputs, int64_t stride) {
  const int64_t half = outputs / 2;
  if (stride == 1) {
    const Value kept = slice(net, x, 1, 0, half);
    const Value right = slice(net, x, 1, half, outputs);
    const Value joined = concat(net, {kept, shuffle_branch(net, right, half, half, 1)}, 1);
    return shuffle(net, joined, outputs);
  }
  Value left = conv_norm(net, x, "branch1.0", inputs, inputs, same(3, 2, inputs), Norm::kKept);
  left = relu(net, conv_norm(net, left, "branch1.1", inputs, half, same(1), Norm::kKept));
  return shuffle(net, concat(net, {left, shuffle_branch(net, x, inputs, half, 2)}, 1), outputs);
}

}  // namespace

Value mobilenet_v3_features(Net& net, Value x, Value* low) {
  x = hard_swish(net, conv_norm(net, x, "features.0", 3, 16, same(3, 2), Norm::kKept));
  const std::vector<Bneck> blocks = {
      {16, 16, 16, 3, 2, true, false},  {16, 72, 24, 3, 2, false, false},
      {24, 88, 24, 3, 1, false, false}, {24, 96, 40, 5, 2, true, true},
      {40, 240, 40, 5, 1, true, true},  {40, 240, 40, 5, 1, true, true},
      {40, 120, 48, 5, 1, true, true},  {48, 144, 48, 5, 1, true, true},
      {48, 288, 96, 5, 2, true, true},  {96, 576, 96, 5, 1, true, true},
      {96, 576, 96, 5, 1, true, true}};
  int index = 0;
  for (const Bneck& block : blocks) {
    const Module module(net, "features." + std::to_string(++index));
    x = bneck(net, x, block);
    if (index == 3 && low != nullptr) *low = x;
  }
  return hard_swish(net, conv_norm(net, x, "features.12", 96, 576, same(1), Norm::kKept));
}

Value mobilenet_v2_features(Net& net, Value x) {
  const Style style = {Norm::kFolded, relu6};
  x = relu6(net, conv_norm(net, x, "features.0", 3, 32, same(3, 2), Norm::kFolded));
  x = stages(net, x, 32,
             {{1, 16, 1, 1},
              {6, 24, 2, 2},
              {6, 32, 3, 2},
              {6, 64, 4, 2},
              {6, 96, 3, 1},
              {6, 160, 3, 2},
              {6, 320, 1, 1}},
             style);
  return relu6(net, conv_norm(net, x, "features.18", 320, 1280, same(1), Norm::kFolded));
}

void mobilenet_v2(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 224, 224});
  const Value mean = reduce(net, "ReduceMean", mobilenet_v2_features(net, image), {2, 3}, false);
  classify(net, mean, 1280);
}

void mobilenet_v3_small(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 224, 224});
  const Value x = pooled(net, mobilenet_v3_features(net, image));
  const Value hidden = hard_swish(net, gemm(net, x, "classifier.0", 576, 1024));
  classify(net, hidden, 1024);
}

void efficientnet_b0(Net& net) {
  const Style style = {Norm::kKept, silu, true};
  const Value image = net.input("input", kFloat, {"batch", 3, 160, 160});
  Value x = silu(net, conv_norm(net, image, "features.0", 3, 32, same(3, 2), Norm::kKept));
  x = stages(net, x, 32,
             {{1, 16, 1, 1, 3},
              {6, 24, 2, 2, 3},
              {6, 40, 2, 2, 5},
              {6, 80, 3, 2, 3},
              {6, 112, 3, 1, 5},
              {6, 192, 4, 2, 5},
              {6, 320, 1, 1, 3}},
             style);
  x = silu(net, conv_norm(net, x, "head", 320, 1280, same(1), Norm::kKept));
  classify(net, flatten_by_shape(net, net.add("GlobalAveragePool", {x})), 1280);
}

void mnasnet(Net& net) {
  const Style style = {Norm::kFolded, relu};
  const Value image = net.input("input", kFloat, {"batch", 3, 192, 192});
  Value x = relu(net, conv_norm(net, image, "stem.0", 3, 32, same(3, 2), Norm::kFolded));
  x = relu(net, conv_norm(net, x, "stem.1", 32, 32, same(3, 1, 32), Norm::kFolded));
  x = conv_norm(net, x, "stem.2", 32, 16, same(1), Norm::kFolded);
  x = stages(net, x, 16,
             {{3, 24, 3, 2, 3},
              {3, 40, 3, 2, 5},
              {6, 80, 3, 2, 5},
              {6, 96, 2, 1, 3},
              {6, 192, 4, 2, 5},
              {6, 320, 1, 1, 3}},
             style);
  x = relu(net, conv_norm(net, x, "head", 320, 1280, same(1), Norm::kFolded));
  classify(net, reduce(net, "ReduceMean", x, {2, 3}, false), 1280);
}

void shufflenet_v2(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 224, 224});
  Value x = relu(net, conv_norm(net, image, "conv1", 3, 24, same(3, 2), Norm::kKept));
  x = max_pool(net, x, 3, 2, 1);
  int64_t inputs = 24;
  const std::vector<std::pair<int64_t, int64_t>> list = {{116, 4}, {232, 8}, {464, 4}};
  for (size_t stage = 0; stage < list.size(); ++stage) {
    const auto [outputs, count] = list[stage];
    for (int64_t i = 0; i < count; ++i) {
      const Module module(net, "stage" + std::to_string(stage + 2) + "." + std::to_string(i));
      x = shuffle_unit(net, x, inputs, outputs, i == 0 ? 2 : 1);
      inputs = outputs;
    }
  }
  x = relu(net, conv_norm(net, x, "conv5", 464, 1024, same(1), Norm::kKept));
  classify(net, reduce(net, "ReduceMean", x, {2, 3}, false), 1024);
}

}  // namespace reverie::zoo
