#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

namespace reverie::zoo {
namespace {

constexpr int32_t kInt8 = onnx::TensorProto::INT8;
constexpr int32_t kUint8 = onnx::TensorProto::UINT8;

/// Activations in 8 bits: `reach` is the largest that is kept, from 0 or to both sides.
Value quantised(Net& net, const Value& x, const std::string& name, float reach, bool positive) {
  const Value scale =
      net.initializer(name + "_scale", floats_tensor({}, {reach / (positive ? 255.0f : 127.0f)}));
  const Value zero =
      net.initializer(name + "_zero_point", small_ints_tensor(kUint8, {}, {positive ? 0 : 128}));
  const Value bytes = net.add("QuantizeLinear", {x, scale, zero});
  return net.add("DequantizeLinear", {bytes, scale, zero});
}

/// A weight in 8 bits, a scale for each output.
Value quantised_weight(Net& net, const Ints& dims, int64_t fan_in) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  const Floats values = net.draw("weight", count, 50);
  Ints bytes;
  for (const float value : values)
    bytes.push_back(std::clamp<int64_t>(std::llround(value), -127, 127));
  const Value stored = net.initializer("weight_quantized", small_ints_tensor(kInt8, dims, bytes));
  const auto rows = static_cast<size_t>(dims[0]);
  Floats scales = net.draw("weight_scale", rows, 0.1);
  for (float& scale : scales)
    scale = (1 + scale) * std::sqrt(2.0f / static_cast<float>(fan_in)) / 50;
  const Value scale = net.initializer("weight_scale", floats_tensor({dims[0]}, scales));
  const Value zeros =
      net.initializer("weight_zero_point", small_ints_tensor(kInt8, {dims[0]}, Ints(rows, 0)));
  return net.add("DequantizeLinear", {stored, scale, zeros}, {{"axis", int64_t{0}}});
}

Value quantised_bias(Net& net, int64_t size) {
  Ints numbers;
  for (const float value : net.draw("bias", static_cast<size_t>(size), 2000))
    numbers.push_back(std::llround(value));
  const Value stored =
      net.initializer("bias_quantized", small_ints_tensor(kInt32, {size}, numbers));
  const Value scale = net.initializer("bias_scale", floats_tensor({}, {1e-4f}));
  return net.add(
      "DequantizeLinear",
      {stored, scale, net.initializer("bias_zero_point", small_ints_tensor(kInt32, {}, {0}))});
}

struct Layer {
  int64_t inputs, outputs;
  Window window;
  Activation activation;  ///< none where null
};

Value quantised_conv(Net& net, const Value& x, const std::string& name, const Layer& l) {
  const Module module(net, name);
  const Window& w = l.window;
  const int64_t inner = l.inputs / w.groups;
  const Value weight =
      quantised_weight(net, {l.outputs, inner, w.kernel, w.kernel}, inner * w.kernel * w.kernel);
  Value y = net.add("Conv", {x, weight, quantised_bias(net, l.outputs)},
                    {{"dilations", Ints{1, 1}},
                     {"group", w.groups},
                     {"kernel_shape", Ints{w.kernel, w.kernel}},
                     {"pads", Ints(4, w.pad)},
                     {"strides", Ints{w.stride, w.stride}}});
  if (l.activation == nullptr) return quantised(net, y, "output", 8, false);
  return quantised(net, l.activation(net, y), "output", 6, true);
}

Value classified(Net& net, const Value& x, int64_t inputs) {
  const Value mean = quantised(net, net.add("GlobalAveragePool", {x}), "mean", 4, false);
  const Value flat = net.add("Flatten", {mean}, {{"axis", int64_t{1}}});
  const Module module(net, "fc");
  const Value weight = quantised_weight(net, {1000, inputs}, 2 * inputs);
  const Value y =
      net.add("Gemm", {flat, weight, quantised_bias(net, 1000)}, {{"transB", int64_t{1}}});
  return quantised(net, y, "output", 6, false);
}

/// What ONNX Runtime's dynamic quantization makes of a MatMul and Add.
Value dynamic_linear(Net& net, const Value& x, const std::string& name, int64_t inputs,
                     int64_t outputs) {
  const Module module(net, name);
  Ints bytes;
  for (const float value : net.draw("weight", static_cast<size_t>(inputs * outputs), 50))
    bytes.push_back(std::clamp<int64_t>(std::llround(value), -127, 127));
  const Value weight =
      net.initializer("weight_quantized", small_ints_tensor(kInt8, {inputs, outputs}, bytes));
  const float step = std::sqrt(2.0f / static_cast<float>(inputs)) / 50;
  const Value scale = net.initializer("weight_scale", floats_tensor({}, {step}));
  const Value zero = net.initializer("weight_zero_point", small_ints_tensor(kInt8, {}, {0}));
  const Values dynamic = net.add_many("DynamicQuantizeLinear", {x}, 3);
  const Value product = net.add("MatMulInteger", {dynamic[0], weight, dynamic[2], zero});
  const Value both = net.add("Mul", {dynamic[1], scale});
  const Value y = net.add("Mul", {cast(net, product, kFloat), both});
  return net.add("Add", {y, net.offset("bias", outputs)});
}

}  // namespace

void resnet_qdq(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 128, 128});
  Value x = quantised(net, image, "input", 4, false);
  x = quantised_conv(net, x, "conv1", {3, 64, {.kernel = 7, .stride = 2, .pad = 3}, relu});
  x = max_pool(net, x, 3, 2, 1);
  int64_t inputs = 64;
  int index = 0;
  for (const int64_t width : {64, 128, 256, 512}) {
    const Module module(net, fmt::format("layer{}.0", ++index));
    const int64_t stride = width == 64 ? 1 : 2;
    const Value y = quantised_conv(net, x, "conv1", {inputs, width, same(3, stride), relu});
    const Value z = quantised_conv(net, y, "conv2", {width, width, same(3), nullptr});
    const Value skip = inputs == width ? x
                                       : quantised_conv(net, x, "downsample",
                                                        {inputs, width, same(1, stride), nullptr});
    x = quantised(net, relu(net, net.add("Add", {z, skip})), "sum", 6, true);
    inputs = width;
  }
  net.output("output", classified(net, x, 512), kFloat, {"batch", 1000});
}

void mobilenet_qdq(Net& net) {
  const Value image = net.input("input", kFloat, {"batch", 3, 160, 160});
  Value x = quantised(net, image, "input", 4, false);
  x = quantised_conv(net, x, "features.0", {3, 32, same(3, 2), relu6});
  const std::vector<std::pair<int64_t, int64_t>> blocks = {{24, 2}, {24, 1}, {40, 2}, {40, 1},
                                                           {96, 2}, {96, 1}, {160, 2}};
  int64_t inputs = 32;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Module module(net, fmt::format("features.{}", i + 1));
    const auto [outputs, stride] = blocks[i];
    const int64_t inner = 4 * inputs;
    Value y = quantised_conv(net, x, "expand", {inputs, inner, same(1), relu6});
    y = quantised_conv(net, y, "depthwise", {inner, inner, same(3, stride, inner), relu6});
    y = quantised_conv(net, y, "project", {inner, outputs, same(1), nullptr});
    x = inputs == outputs ? quantised(net, net.add("Add", {x, y}), "sum", 8, false) : y;
    inputs = outputs;
  }
  x = quantised_conv(net, x, "features.18", {inputs, 640, same(1), relu6});
  net.output("output", classified(net, x, 640), kFloat, {"batch", 1000});
}

void mlp_dynamic(Net& net) {
  const Value x = net.input("input", kFloat, {"batch", 512});
  Value y = relu(net, dynamic_linear(net, x, "fc1", 512, 2048));
  y = relu(net, dynamic_linear(net, y, "fc2", 2048, 2048));
  y = relu(net, dynamic_linear(net, y, "fc3", 2048, 1024));
  net.output("output", dynamic_linear(net, y, "fc4", 1024, 100), kFloat, {"batch", 100});
}

}  // namespace reverie::zoo
