#include <fmt/format.h>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"
#include "core/models/zoo/mobile.h"
#include "core/models/zoo/residual.h"

namespace reverie::zoo {
namespace {

Value conv_relu(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
                const Window& window) {
  return relu(net, conv_norm(net, x, name, inputs, outputs, window, Norm::kKept));
}

Value twice(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs) {
  const Module module(net, name);
  const Value y = conv_relu(net, x, "0", inputs, outputs, same(3));
  return conv_relu(net, y, "1", outputs, outputs, same(3));
}

Window atrous(int64_t rate) { return {.kernel = 3, .pad = rate, .dilation = rate, .bias = false}; }

/// Atrous spatial pyramid pooling (Chen et al. 2017).
Value pyramid(Net& net, const Value& x, int64_t inputs, int64_t outputs) {
  const Module module(net, "classifier.0");
  Values branches = {conv_relu(net, x, "convs.0", inputs, outputs, same(1))};
  int index = 0;
  for (const int64_t rate : {4, 8, 12})
    branches.push_back(
        conv_relu(net, x, fmt::format("convs.{}", ++index), inputs, outputs, atrous(rate)));
  const Value mean = net.add("GlobalAveragePool", {x});
  const Value global = conv_relu(net, mean, "convs.4", inputs, outputs, same(1));
  branches.push_back(resize_like(net, global, x, "linear"));
  const int64_t all = outputs * static_cast<int64_t>(branches.size());
  return conv_relu(net, concat(net, branches, 1), "project", all, outputs, same(1));
}

}  // namespace

void unet(Net& net) {
  Value x = net.input("input", kFloat, {"batch", 3, 128, 128});
  Values skips;
  int64_t inputs = 3;
  int64_t width = 16;
  for (int level = 0; level < 4; ++level, width *= 2) {
    x = twice(net, x, fmt::format("down{}", level), inputs, width);
    skips.push_back(x);
    x = max_pool(net, x, 2, 2);
    inputs = width;
  }
  x = twice(net, x, "bottom", inputs, width);
  for (int level = 3; level >= 0; --level, width /= 2) {
    const Module module(net, fmt::format("up{}", level));
    const Value large = conv_transpose(net, x, "up", width, width / 2, {.kernel = 2, .stride = 2});
    const Value active = relu(net, batch_norm(net, large, "norm", width / 2));
    x = twice(net, concat(net, {skips[static_cast<size_t>(level)], active}, 1), "conv", width,
              width / 2);
  }
  const Value y = sigmoid(net, conv(net, x, "outc", width, 1, {}));
  net.output("output", y, kFloat, {"batch", 1, 128, 128});
}

void deeplabv3(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 160, 160});
  const ResNet backbone = {
      .counts = {1, 1, 2, 1}, .bottleneck = true, .group_width = 64, .dilated_from = 2};
  const Value x = resnet_stages(net, image, backbone).back();
  Value y = pyramid(net, x, 2048, 64);
  y = conv_relu(net, y, "classifier.1", 64, 64, same(3));
  y = conv(net, y, "classifier.4", 64, 21, {});
  net.output("out", resize_like(net, y, image, "linear"), kFloat, {"batch", 21, 160, 160});
}

void lraspp(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 256, 256});
  Value low;
  const Value high = mobilenet_v3_features(net, image, &low);
  const Value wide = conv_relu(net, high, "classifier.cbr", 576, 128, same(1));
  const Value scale = sigmoid(
      net, conv(net, net.add("GlobalAveragePool", {high}), "classifier.scale", 576, 128, same(1)));
  const Value gated = net.add("Mul", {wide, scale});
  const Value large = resize_like(net, gated, low, "linear");
  const Value sum = net.add("Add", {conv(net, low, "classifier.low", 24, 21, {}),
                                    conv(net, large, "classifier.high", 128, 21, {})});
  net.output("out", resize_like(net, sum, image, "linear"), kFloat, {"batch", 21, 256, 256});
}

void fcn(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, "height", "width"});
  const ResNet backbone = {.counts = {1, 1, 1, 1}, .dilated_from = 2};
  const Values stages = resnet_stages(net, image, backbone);
  Value y = dropout(net, conv_relu(net, stages[3], "classifier.0", 512, 128, same(3)));
  y = conv(net, y, "classifier.4", 128, 21, {});
  Value z = dropout(net, conv_relu(net, stages[2], "aux_classifier.0", 256, 64, same(3)));
  z = conv(net, z, "aux_classifier.4", 64, 21, {});
  const Dims dims = {"batch", 21, "height", "width"};
  net.output("out", resize_like(net, y, image, "linear"), kFloat, dims);
  net.output("aux", resize_like(net, z, image, "linear"), kFloat, dims);
}

}  // namespace reverie::zoo
