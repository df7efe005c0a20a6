#include "core/models/zoo/layers.h"

#include <cmath>

#include "core/models/zoo/forms.h"

namespace reverie::zoo {
namespace {

Attributes window_attributes(const Window& window) {
  const auto all = static_cast<size_t>(window.rank);
  return {{"dilations", Ints(all, window.dilation)},
          {"group", window.groups},
          {"kernel_shape", Ints(all, window.kernel)},
          {"pads", Ints(2 * all, window.pad)},
          {"strides", Ints(all, window.stride)}};
}

int64_t taps(const Window& window) {
  return static_cast<int64_t>(std::llround(std::pow(window.kernel, window.rank)));
}

Ints filter_shape(int64_t outer, int64_t inner, const Window& window) {
  Ints shape(static_cast<size_t>(window.rank) + 2, window.kernel);
  shape[0] = outer;
  shape[1] = inner;
  return shape;
}

}  // namespace

Window same(int64_t kernel, int64_t stride, int64_t groups) {
  return {.kernel = kernel, .stride = stride, .pad = kernel / 2, .groups = groups, .bias = false};
}

Value conv(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
           Window window) {
  const Module module(net, name);
  const int64_t inner = inputs / window.groups;
  Values operands = {
      x, net.weight("weight", filter_shape(outputs, inner, window), inner * taps(window), 2)};
  if (window.bias) operands.push_back(net.offset("bias", outputs));
  return net.add("Conv", operands, window_attributes(window));
}

Value conv_transpose(Net& net, const Value& x, const std::string& name, int64_t inputs,
                     int64_t outputs, const Window& window) {
  const Module module(net, name);
  const int64_t fan = std::max<int64_t>(
      inputs * taps(window) / (taps({.kernel = window.stride, .rank = window.rank})), 1);
  Values operands = {
      x, net.weight("weight", filter_shape(inputs, outputs / window.groups, window), fan, 2)};
  if (window.bias) operands.push_back(net.offset("bias", outputs));
  return net.add("ConvTranspose", operands, window_attributes(window));
}

Value batch_norm(Net& net, const Value& x, const std::string& name, int64_t channels,
                 float epsilon) {
  const Module module(net, name);
  Attributes attributes = {{"epsilon", epsilon}, {"momentum", 0.9f}};
  if (net.opset() >= 14) attributes.push_back({"training_mode", int64_t{0}});
  return net.add("BatchNormalization",
                 {x, net.positive("weight", {channels}), net.offset("bias", channels),
                  net.offset("running_mean", channels), net.positive("running_var", {channels})},
                 attributes);
}

Value conv_norm(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
                const Window& window, Norm norm) {
  const Module module(net, name);
  Window with_bias = window;
  with_bias.bias = norm == Norm::kFolded;
  const Value y = conv(net, x, "0", inputs, outputs, with_bias);
  return norm == Norm::kFolded ? y : batch_norm(net, y, "1", outputs);
}

Value gemm(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs) {
  const Module module(net, name);
  return net.add("Gemm",
                 {x, net.weight("weight", {outputs, inputs}, inputs), net.offset("bias", outputs)},
                 {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
}

Value linear(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
             bool bias) {
  const Module module(net, name);
  const Value y = net.add("MatMul", {x, net.weight("weight", {inputs, outputs}, inputs)});
  return bias ? net.add("Add", {net.offset("bias", outputs), y}) : y;
}

Value embedding(Net& net, const Value& ids, const std::string& name, int64_t rows, int64_t size) {
  const Module module(net, name);
  return net.add("Gather", {net.weight("weight", {rows, size}, 1), ids});
}

Value layer_norm(Net& net, const Value& x, const std::string& name, int64_t size, float epsilon) {
  const Module module(net, name);
  const Value scale = net.positive("weight", {size});
  const Value offset = net.offset("bias", size);
  if (net.opset() >= 17)
    return net.add("LayerNormalization", {x, scale, offset},
                   {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  const Value centred = net.add("Sub", {x, reduce(net, "ReduceMean", x, {-1})});
  const Value variance = reduce(net, "ReduceMean", net.add("Pow", {centred, net.number(2)}), {-1});
  const Value deviation = net.add("Sqrt", {net.add("Add", {variance, net.number(epsilon)})});
  const Value normal = net.add("Div", {centred, deviation});
  return net.add("Add", {net.add("Mul", {normal, scale}), offset});
}

Value group_norm(Net& net, const Value& x, const std::string& name, int64_t groups,
                 int64_t channels, int64_t spatial) {
  const Module module(net, name);
  const Value shape = net.add("Shape", {x});
  const Value flat = reshape(net, x, {0, groups, -1});
  const Value ones = net.constant(floats_tensor({groups}, Floats(static_cast<size_t>(groups), 1)));
  const Value zeros = net.constant(floats_tensor({groups}, Floats(static_cast<size_t>(groups), 0)));
  const Value normal = net.add("InstanceNormalization", {flat, ones, zeros}, {{"epsilon", 1e-5f}});
  const Value back = net.add("Reshape", {normal, shape});
  Ints axes;
  for (int64_t axis = 1; axis <= spatial; ++axis) axes.push_back(axis);
  const Value scale = unsqueeze(net, net.positive("weight", {channels}), axes);
  const Value offset = unsqueeze(net, net.offset("bias", channels), axes);
  return net.add("Add", {net.add("Mul", {back, scale}), offset});
}

Value instance_norm(Net& net, const Value& x, const std::string& name, int64_t channels) {
  const Module module(net, name);
  return net.add("InstanceNormalization",
                 {x, net.positive("weight", {channels}), net.offset("bias", channels)},
                 {{"epsilon", 1e-5f}});
}

Value relu(Net& net, const Value& x) { return net.add("Relu", {x}); }
Value relu6(Net& net, const Value& x) { return clip(net, x, 0, 6); }
Value sigmoid(Net& net, const Value& x) { return net.add("Sigmoid", {x}); }
Value silu(Net& net, const Value& x) { return net.add("Mul", {x, sigmoid(net, x)}); }

Value gelu(Net& net, const Value& x) {
  const Value error = net.add("Erf", {net.add("Div", {x, net.number(std::sqrt(2.0f))})});
  const Value gated = net.add("Mul", {x, net.add("Add", {error, net.number(1)})});
  return net.add("Mul", {gated, net.number(0.5f)});
}

Value gelu_tanh(Net& net, const Value& x) {
  const Value half = net.add("Mul", {x, net.number(0.5f)});
  const Value cube = net.add("Pow", {x, net.number(3)});
  const Value sum = net.add("Add", {x, net.add("Mul", {cube, net.number(0.044715f)})});
  const Value bent = net.add("Tanh", {net.add("Mul", {sum, net.number(0.7978845608f)})});
  return net.add("Mul", {half, net.add("Add", {bent, net.number(1)})});
}

Value hard_sigmoid(Net& net, const Value& x) {
  if (net.opset() >= 13) return net.add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}});
  return net.add("Div", {clip(net, net.add("Add", {x, net.number(3)}), 0, 6), net.number(6)});
}

Value hard_swish(Net& net, const Value& x) {
  const Value gate = clip(net, net.add("Add", {x, net.number(3)}), 0, 6);
  return net.add("Div", {net.add("Mul", {x, gate}), net.number(6)});
}

Value squeeze_excite(Net& net, const Value& x, const std::string& name, int64_t channels,
                     int64_t inner, Activation inside, Activation gate) {
  const Module module(net, name);
  const Value mean = net.add("GlobalAveragePool", {x});
  const Value down = inside(net, conv(net, mean, "fc1", channels, inner, {}));
  return net.add("Mul", {gate(net, conv(net, down, "fc2", inner, channels, {})), x});
}

Value max_pool(Net& net, const Value& x, int64_t kernel, int64_t stride, int64_t pad, bool ceil) {
  Attributes attributes = {{"kernel_shape", Ints{kernel, kernel}},
                           {"pads", Ints{pad, pad, pad, pad}},
                           {"strides", Ints{stride, stride}}};
  if (net.opset() >= 10) attributes.push_back({"ceil_mode", int64_t{ceil}});
  return net.add("MaxPool", {x}, attributes);
}

Value average_pool(Net& net, const Value& x, int64_t kernel, int64_t stride, int64_t pad) {
  return net.add("AveragePool", {x},
                 {{"count_include_pad", int64_t{1}},
                  {"kernel_shape", Ints{kernel, kernel}},
                  {"pads", Ints{pad, pad, pad, pad}},
                  {"strides", Ints{stride, stride}}});
}

Value pooled(Net& net, const Value& x) {
  return net.add("Flatten", {net.add("GlobalAveragePool", {x})}, {{"axis", int64_t{1}}});
}

Value attention(Net& net, const Value& x, const std::string& name, const Attention& options) {
  const Module module(net, name);
  const int64_t size = options.hidden / options.heads;
  const auto heads = [&](const char* which, const Ints& perm) {
    const Value packed = linear(net, x, which, options.hidden, options.hidden);
    const Value apart = options.by_shape ? view(net, packed,
                                                {extent(net, packed, 0), extent(net, packed, 1),
                                                 net.integer(options.heads), net.integer(size)})
                                         : reshape(net, packed, {0, -1, options.heads, size});
    return transpose(net, apart, perm);
  };
  const float root = std::sqrt(static_cast<float>(size));
  Value query = heads("query", {0, 2, 1, 3});
  const Value key = heads("key", {0, 2, 3, 1});
  const Value value = heads("value", {0, 2, 1, 3});
  if (!options.divide) query = net.add("Mul", {query, net.number(1 / root)});
  Value scores = net.add("MatMul", {query, key});
  if (options.divide) scores = net.add("Div", {scores, net.number(root)});
  if (!options.mask.empty()) scores = net.add("Add", {scores, options.mask});
  const Value context =
      transpose(net, net.add("MatMul", {softmax(net, scores, 3), value}), {0, 2, 1, 3});
  const Value joined =
      options.by_shape
          ? view(net, context,
                 {extent(net, context, 0), extent(net, context, 1), net.integer(options.hidden)})
          : reshape(net, context, {0, -1, options.hidden});
  return linear(net, joined, "output.dense", options.hidden, options.hidden);
}

}  // namespace reverie::zoo
