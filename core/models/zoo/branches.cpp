#include <fmt/format.h>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

namespace reverie::zoo {
namespace {

Value basic(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
            const Window& window, Norm norm) {
  return relu(net, conv_norm(net, x, name, inputs, outputs, window, norm));
}

/// torchvision's change of normalization: each channel by itself, scaled and moved.
Value transform_input(Net& net, const Value& image) {
  const float means[] = {0.485f, 0.456f, 0.406f};
  const float deviations[] = {0.229f, 0.224f, 0.225f};
  Values channels;
  for (int64_t i = 0; i < 3; ++i) {
    const Value picked = net.add("Gather", {image, net.integer(i)}, {{"axis", int64_t{1}}});
    const Value channel = unsqueeze(net, picked, {1});
    const Value scaled = net.add("Mul", {channel, net.number(deviations[i] / 0.5f)});
    channels.push_back(net.add("Add", {scaled, net.number((means[i] - 0.5f) / 0.5f)}));
  }
  return concat(net, channels, 1);
}

/// The channels of an Inception module (Szegedy et al. 2014): 1x1, 3x3 and 5x5 with what they are
/// reduced to, and behind the pool.
struct Mixture {
  int64_t one, reduced3, three, reduced5, five, pool;
};

Value inception(Net& net, const Value& x, const std::string& name, int64_t inputs,
                const Mixture& m) {
  const Module module(net, name);
  const Norm norm = Norm::kFolded;
  const Value one = basic(net, x, "branch1", inputs, m.one, same(1), norm);
  const Value to3 = basic(net, x, "branch2.0", inputs, m.reduced3, same(1), norm);
  const Value three = basic(net, to3, "branch2.1", m.reduced3, m.three, same(3), norm);
  const Value to5 = basic(net, x, "branch3.0", inputs, m.reduced5, same(1), norm);
  const Value five = basic(net, to5, "branch3.1", m.reduced5, m.five, same(3), norm);
  const Value most = max_pool(net, x, 3, 1, 1, true);
  const Value last = basic(net, most, "branch4.1", inputs, m.pool, same(1), norm);
  return concat(net, {one, three, five, last}, 1);
}

/// Szegedy et al. 2016: branches, a convolution without activation, scaled and added.
Value block35(Net& net, const Value& x, int64_t channels) {
  const Norm norm = Norm::kKept;
  const Value one = basic(net, x, "branch0", channels, 32, same(1), norm);
  Value two = basic(net, x, "branch1.0", channels, 32, same(1), norm);
  two = basic(net, two, "branch1.1", 32, 32, same(3), norm);
  Value three = basic(net, x, "branch2.0", channels, 32, same(1), norm);
  three = basic(net, three, "branch2.1", 32, 48, same(3), norm);
  three = basic(net, three, "branch2.2", 48, 64, same(3), norm);
  const Value up = conv(net, concat(net, {one, two, three}, 1), "conv2d", 128, channels, {});
  const Value scaled = net.add("Mul", {up, net.number(0.17f)});
  return relu(net, net.add("Add", {scaled, x}));
}

/// Three ways to half the size: strided convolutions and a pool.
Value mixed_down(Net& net, const Value& x, int64_t channels) {
  const Norm norm = Norm::kKept;
  const Value one = basic(net, x, "branch0", channels, 192, same(3, 2), norm);
  Value two = basic(net, x, "branch1.0", channels, 128, same(1), norm);
  two = basic(net, two, "branch1.1", 128, 128, same(3), norm);
  two = basic(net, two, "branch1.2", 128, 192, same(3, 2), norm);
  return concat(net, {one, two, max_pool(net, x, 3, 2, 1)}, 1);
}

/// Xception's separable convolution: depthwise, pointwise.
Value separable(Net& net, const Value& x, const std::string& name, int64_t inputs,
                int64_t outputs) {
  const Module module(net, name);
  const Value deep = conv(net, x, "conv1", inputs, inputs, same(3, 1, inputs));
  return batch_norm(net, conv(net, deep, "pointwise", inputs, outputs, same(1)), "bn", outputs);
}

/// Sums of two operations each on two hidden states, as in NASNet's cells (Zoph et al. 2017).
Value cell(Net& net, const Value& before, const Value& x, int64_t channels) {
  const int64_t width = channels / 4;
  const Value p = conv_norm(net, relu(net, before), "prev", channels, width, same(1), Norm::kKept);
  const Value h = conv_norm(net, relu(net, x), "base", channels, width, same(1), Norm::kKept);
  const auto apart = [&](const Value& value, const char* name) {
    return separable(net, relu(net, value), name, width, width);
  };
  const Value first = net.add("Add", {apart(h, "comb0.left"), apart(p, "comb0.right")});
  const Value second = net.add("Add", {apart(p, "comb1.left"), apart(p, "comb1.right")});
  const Value third = net.add("Add", {average_pool(net, h, 3, 1, 1), p});
  const Value fourth = net.add("Add", {apart(h, "comb3.left"), h});
  return concat(net, {first, second, third, fourth}, 1);
}

}  // namespace

void googlenet(Net& net) {
  const Norm norm = Norm::kFolded;
  Value x = transform_input(net, net.input("input", kFloat, {"batch", 3, 128, 128}));
  const Window stem = {.kernel = 7, .stride = 2, .pad = 3, .bias = false};
  x = max_pool(net, basic(net, x, "conv1", 3, 64, stem, norm), 3, 2, 0, true);
  x = basic(net, x, "conv2", 64, 64, same(1), norm);
  x = max_pool(net, basic(net, x, "conv3", 64, 192, same(3), norm), 3, 2, 0, true);
  x = inception(net, x, "inception3a", 192, {64, 96, 128, 16, 32, 32});
  x = inception(net, x, "inception3b", 256, {128, 128, 192, 32, 96, 64});
  x = max_pool(net, x, 3, 2, 0, true);
  x = inception(net, x, "inception4a", 480, {192, 96, 208, 16, 48, 64});
  x = inception(net, x, "inception4b", 512, {160, 112, 224, 24, 64, 64});
  x = inception(net, x, "inception4c", 512, {128, 128, 256, 24, 64, 64});
  x = inception(net, x, "inception4d", 512, {112, 144, 288, 32, 64, 64});
  x = inception(net, x, "inception4e", 528, {256, 160, 320, 32, 128, 128});
  x = max_pool(net, x, 2, 2, 0, true);
  x = inception(net, x, "inception5a", 832, {256, 160, 320, 32, 128, 128});
  x = inception(net, x, "inception5b", 832, {384, 192, 384, 48, 128, 128});
  net.output("output", gemm(net, pooled(net, x), "fc", 1024, 1000), kFloat, {"batch", 1000});
}

void inception_resnet(Net& net) {
  const Norm norm = Norm::kKept;
  const Value image = net.input("input", kFloat, {"batch", 3, 160, 160});
  Value x = basic(net, image, "conv2d_1a", 3, 32, same(3, 2), norm);
  x = basic(net, x, "conv2d_2b", 32, 64, same(3), norm);
  x = max_pool(net, x, 3, 2, 1);
  x = basic(net, x, "conv2d_3b", 64, 80, same(1), norm);
  x = basic(net, x, "conv2d_4a", 80, 192, same(3, 2), norm);
  for (int i = 0; i < 3; ++i) {
    const Module module(net, fmt::format("repeat.{}", i));
    x = block35(net, x, 192);
  }
  {
    const Module module(net, "mixed_6a");
    x = mixed_down(net, x, 192);
  }
  for (int i = 0; i < 3; ++i) {
    const Module module(net, fmt::format("repeat_1.{}", i));
    x = block35(net, x, 576);
  }
  net.output("output", gemm(net, pooled(net, x), "last_linear", 576, 1000), kFloat,
             {"batch", 1000});
}

void nasnet_mobile(Net& net) {
  const Value image = net.input("input", kFloat, {1, 3, 96, 96});
  Value before = conv_norm(net, image, "conv0", 3, 88, same(3, 2), Norm::kKept);
  Value x = separable(net, relu(net, before), "stem", 88, 88);
  for (int i = 0; i < 4; ++i) {
    const Module module(net, fmt::format("cell_{}", i));
    const Value next = cell(net, before, x, 88);
    before = x;
    x = next;
    if (i == 1) {
      before = max_pool(net, before, 3, 2, 1);
      x = max_pool(net, x, 3, 2, 1);
    }
  }
  net.output("output", gemm(net, pooled(net, relu(net, x)), "last_linear", 88, 1000), kFloat,
             {1, 1000});
}

}  // namespace reverie::zoo
