#include "core/models/zoo/residual.h"

#include <fmt/format.h>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"

namespace reverie::zoo {
namespace {

struct Block {
  int64_t inputs, outputs, stride, dilation;
};

Window dilated(int64_t stride, int64_t dilation, int64_t groups) {
  Window window = same(3, stride, groups);
  window.dilation = dilation;
  window.pad = dilation;
  return window;
}

Value basic_block(Net& net, const Value& x, const Block& b, Norm norm) {
  Value y = relu(
      net, conv_norm(net, x, "conv1", b.inputs, b.outputs, dilated(b.stride, b.dilation, 1), norm));
  y = conv_norm(net, y, "conv2", b.outputs, b.outputs, dilated(1, b.dilation, 1), norm);
  const bool plain = b.stride == 1 && b.inputs == b.outputs;
  const Value skip =
      plain ? x : conv_norm(net, x, "downsample", b.inputs, b.outputs, same(1, b.stride), norm);
  return relu(net, net.add("Add", {y, skip}));
}

Value bottleneck(Net& net, const Value& x, const Block& b, int64_t width, int64_t groups,
                 Norm norm) {
  Value y = relu(net, conv_norm(net, x, "conv1", b.inputs, width, same(1), norm));
  y = relu(net,
           conv_norm(net, y, "conv2", width, width, dilated(b.stride, b.dilation, groups), norm));
  y = conv_norm(net, y, "conv3", width, b.outputs, same(1), norm);
  const bool plain = b.stride == 1 && b.inputs == b.outputs;
  const Value skip =
      plain ? x : conv_norm(net, x, "downsample", b.inputs, b.outputs, same(1, b.stride), norm);
  return relu(net, net.add("Add", {y, skip}));
}

void classify(Net& net, const Value& x, int64_t inputs) {
  net.output("output", gemm(net, x, "fc", inputs, 1000), net.floating(), {"batch", 1000});
}

/// Radosavovic et al. 2020: a bottleneck of its own width with squeeze and excitation.
Value regnet_block(Net& net, const Value& x, const Block& b) {
  const int64_t width = b.outputs;
  Value y = relu(net, conv_norm(net, x, "f.a", b.inputs, width, same(1), Norm::kKept));
  y = relu(net, conv_norm(net, y, "f.b", width, width, same(3, b.stride, width / 8), Norm::kKept));
  y = squeeze_excite(net, y, "f.se", width, b.inputs / 4, relu, sigmoid);
  y = conv_norm(net, y, "f.c", width, width, same(1), Norm::kKept);
  if (b.stride == 1 && b.inputs == b.outputs) return relu(net, net.add("Add", {x, y}));
  const Value skip = conv_norm(net, x, "proj", b.inputs, width, same(1, b.stride), Norm::kKept);
  return relu(net, net.add("Add", {skip, y}));
}

/// Normalization and activation before the convolutions (Zagoruyko and Komodakis 2016).
Value wide_block(Net& net, const Value& x, const Block& b) {
  const Value active = relu(net, batch_norm(net, x, "bn1", b.inputs));
  Value y = conv(net, active, "conv1", b.inputs, b.outputs, same(3, b.stride));
  y = dropout(net, relu(net, batch_norm(net, y, "bn2", b.outputs)));
  y = conv(net, y, "conv2", b.outputs, b.outputs, same(3));
  const bool plain = b.inputs == b.outputs;
  const Value skip =
      plain ? x : conv(net, active, "shortcut", b.inputs, b.outputs, same(1, b.stride));
  return net.add("Add", {y, skip});
}

/// Huang et al. 2016: concatenation of all before, normalization first.
Value dense_layer(Net& net, const Value& x, int64_t inputs, int64_t growth) {
  Value y = relu(net, batch_norm(net, x, "norm1", inputs));
  y = conv(net, y, "conv1", inputs, 4 * growth, same(1));
  y = relu(net, batch_norm(net, y, "norm2", 4 * growth));
  return conv(net, y, "conv2", 4 * growth, growth, same(3));
}

}  // namespace

int64_t stage_channels(const ResNet& options, size_t stage) {
  return (options.channels << stage) * (options.bottleneck ? 4 : 1);
}

Values resnet_stages(Net& net, const Value& image, const ResNet& options) {
  const Window stem = {.kernel = 7, .stride = 2, .pad = 3, .bias = false};
  Value x = relu(net, conv_norm(net, image, "conv1", 3, options.channels, stem, options.norm));
  x = max_pool(net, x, 3, 2, 1);
  int64_t inputs = options.channels;
  int64_t dilation = 1;
  Values result;
  for (size_t stage = 0; stage < options.counts.size(); ++stage) {
    const bool dilates = stage >= options.dilated_from;
    const int64_t before = dilation;
    if (dilates) dilation *= 2;
    for (int64_t i = 0; i < options.counts[stage]; ++i) {
      const Module module(net, fmt::format("layer{}.{}", stage + 1, i));
      const int64_t stride = i == 0 && stage > 0 && !dilates ? 2 : 1;
      const Block block = {inputs, stage_channels(options, stage), stride,
                           i == 0 ? before : dilation};
      const int64_t width = (options.group_width * options.groups) << stage;
      x = options.bottleneck ? bottleneck(net, x, block, width, options.groups, options.norm)
                             : basic_block(net, x, block, options.norm);
      inputs = block.outputs;
    }
    result.push_back(x);
  }
  return result;
}

void resnext(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 128, 128});
  const ResNet options = {
      .counts = {2, 2, 2, 2}, .bottleneck = true, .groups = 32, .group_width = 4};
  classify(net, pooled(net, resnet_stages(net, image, options).back()), 2048);
}

void resnet18_float16(Net& net) {
  const Value image = net.input("input", kHalf, {1, 3, 160, 160});
  const ResNet options = {.counts = {2, 2, 2, 2}};
  classify(net, pooled(net, resnet_stages(net, image, options).back()), 512);
}

void regnet_y_400mf(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 160, 160});
  Value x = relu(net, conv_norm(net, image, "stem", 3, 32, same(3, 2), Norm::kKept));
  const std::vector<std::pair<int64_t, int64_t>> list = {{48, 1}, {104, 3}, {208, 6}, {440, 6}};
  int64_t inputs = 32;
  for (size_t stage = 0; stage < list.size(); ++stage) {
    const auto [width, count] = list[stage];
    for (int64_t i = 0; i < count; ++i) {
      const Module module(net, fmt::format("trunk_output.block{}-{}", stage + 1, i));
      x = regnet_block(net, x, {inputs, width, i == 0 ? 2 : 1, 1});
      inputs = width;
    }
  }
  classify(net, pooled(net, x), inputs);
}

void wide_resnet(Net& net) {
  const Value image = net.input("input", kFloat, {1, 3, 32, 32});
  Value x = conv(net, image, "conv1", 3, 16, same(3));
  int64_t inputs = 16;
  int index = 0;
  for (const int64_t width : {64, 128, 256}) {
    const int64_t first = index == 0 ? 1 : 2;
    for (int64_t i = 0; i < 2; ++i) {
      const Module module(net, fmt::format("block{}.{}", index + 1, i));
      x = wide_block(net, x, {inputs, width, i == 0 ? first : 1, 1});
      inputs = width;
    }
    ++index;
  }
  x = average_pool(net, relu(net, batch_norm(net, x, "bn1", inputs)), 8, 8);
  x = reshape(net, x, {-1, 256});
  net.output("output", gemm(net, x, "fc", 256, 10), kFloat, {1, 10});
}

void densenet(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 128, 128});
  const Window stem = {.kernel = 7, .stride = 2, .pad = 3, .bias = false};
  Value x = relu(net, conv_norm(net, image, "features.stem", 3, 64, stem, Norm::kKept));
  x = max_pool(net, x, 3, 2, 1);
  int64_t inputs = 64;
  const Ints counts = {6, 12, 6};
  for (size_t block = 0; block < counts.size(); ++block) {
    Values all = {x};
    for (int64_t i = 0; i < counts[block]; ++i) {
      const Module module(net, fmt::format("features.denseblock{}.denselayer{}", block + 1, i + 1));
      const Value joined = concat(net, all, 1);
      all.push_back(dense_layer(net, joined, inputs, 32));
      inputs += 32;
    }
    const Module module(net, fmt::format("features.transition{}", block + 1));
    x = relu(net, batch_norm(net, concat(net, all, 1), "norm", inputs));
    if (block + 1 == counts.size()) break;
    x = average_pool(net, conv(net, x, "conv", inputs, inputs / 2, same(1)), 2, 2);
    inputs /= 2;
  }
  classify(net, flatten_by_shape(net, net.add("GlobalAveragePool", {x})), inputs);
}

void vgg11_bn(Net& net) {
  Value x = net.input("input", kFloat, {1, 3, 112, 112});
  int64_t inputs = 3;
  int index = 0;
  const std::vector<Ints> blocks = {{64}, {128}, {256, 256}, {512, 512}, {512, 512}};
  for (const Ints& block : blocks) {
    for (const int64_t width : block) {
      Window window = same(3);
      window.bias = true;
      const Module module(net, fmt::format("features.{}", index++));
      x = conv(net, x, "0", inputs, width, window);
      x = relu(net, batch_norm(net, x, "1", width));
      inputs = width;
    }
    x = max_pool(net, x, 2, 2);
  }
  x = net.add("Flatten", {x}, {{"axis", int64_t{1}}});
  x = dropout(net, relu(net, gemm(net, x, "classifier.0", 512 * 9, 512)));
  x = dropout(net, relu(net, gemm(net, x, "classifier.3", 512, 512)));
  net.output("output", gemm(net, x, "classifier.6", 512, 1000), kFloat, {1, 1000});
}

}  // namespace reverie::zoo
