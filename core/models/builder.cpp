#include "core/models/builder.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie::models {

Window same(int64_t kernel, int64_t stride, int64_t groups) {
  return {kernel, kernel, stride, kernel / 2, kernel / 2, groups, false};
}

Window valid(int64_t kernel, int64_t stride) { return {kernel, kernel, stride, 0, 0, 1, false}; }

Graph ModelBuilder::finish(ValueId output) {
  graph_.add_output("output", output);
  return std::move(graph_);
}

ValueId ModelBuilder::image() {
  return input("input", {DType::kFloat32, {1, 3, options_.image, options_.image}});
}

int64_t ModelBuilder::channels(int64_t count, int64_t multiple) const {
  const double wanted = static_cast<double>(count) * options_.width;
  const auto rounded = static_cast<int64_t>(std::llround(wanted / static_cast<double>(multiple)));
  return std::max<int64_t>(rounded, 1) * multiple;
}

ValueId ModelBuilder::scalar(float value) {
  return graph_.add_constant(Weight::dense(Tensor::of<float>({}, {value})));
}

ValueId ModelBuilder::drawn(const std::string& name, const Shape& shape, Draw draw,
                            double deviation, double light_value) {
  const TensorType type = {DType::kFloat32, shape};
  const Rng rng = Rng(options_.seed).fork(hash_string(name));
  const auto load = [type, rng, draw, deviation] {
    Tensor tensor(type);
    Rng stream = rng;
    // Uniform on +-sqrt(3) times the deviation has that deviation.
    const double reach = std::sqrt(3.0) * deviation;
    for (float& value : tensor.data<float>())
      value = static_cast<float>(draw == Draw::kPositive ? stream.uniform(0.5, 1.5)
                                                         : stream.uniform(-reach, reach));
    return tensor;
  };
  if (type.elements() <= Weight::kSmallWeight)
    return graph_.add_constant(Weight::dense(load(), name));
  if (options_.light) return graph_.add_constant(Weight::fill(type, light_value, name));
  const uint64_t kind = hash_combine(static_cast<uint64_t>(draw),
                                     static_cast<uint64_t>(std::llround(deviation * 1e12)));
  const uint64_t identity = hash_combine(hash_combine(rng.state(), hash_of(type)), kind);
  return graph_.add_constant(Weight::lazy(type, identity, load, name));
}

ValueId ModelBuilder::weight(const std::string& name, const Shape& shape, int64_t fan_in,
                             double gain) {
  const double fan = static_cast<double>(std::max<int64_t>(fan_in, 1));
  // Of equal weights a filter averages its window, a matrix takes a tenth of that.
  const double light = shape.size() > 2 ? 1 / fan : 0.1 / fan;
  return drawn(name, shape, Draw::kCentred, std::sqrt(gain / fan), light);
}

ValueId ModelBuilder::offset(const std::string& name, int64_t size) {
  return drawn(name, {size}, Draw::kCentred, 0.2, 0.01);
}

ValueId ModelBuilder::positive(const std::string& name, int64_t size) {
  return drawn(name, {size}, Draw::kPositive, 0, 1);
}

ValueId ModelBuilder::conv(ValueId x, const std::string& name, int64_t outputs,
                           const Window& window) {
  const int64_t inputs = shape(x)[1] / window.groups;
  const ValueId filter = weight(name + ".weight", {outputs, inputs, window.height, window.width},
                                inputs * window.height * window.width, 2);
  const Attributes attributes = {
      {"strides", std::vector<int64_t>{window.stride, window.stride}},
      {"pads", std::vector<int64_t>{window.pad_height, window.pad_width, window.pad_height,
                                    window.pad_width}},
      {"group", window.groups}};
  if (!window.bias) return graph_.add("Conv", {x, filter}, attributes);
  return graph_.add("Conv", {x, filter, offset(name + ".bias", outputs)}, attributes);
}

ValueId ModelBuilder::batch_norm(ValueId x, const std::string& name, double epsilon) {
  const int64_t size = shape(x)[1];
  return graph_.add("BatchNormalization",
                    {x, positive(name + ".weight", size), offset(name + ".bias", size),
                     offset(name + ".running_mean", size), positive(name + ".running_var", size)},
                    {{"epsilon", epsilon}});
}

ValueId ModelBuilder::concat(const std::vector<ValueId>& values, int64_t axis) {
  return graph_.output(graph_.add_node(op_named("Concat"), values, {{"axis", axis}}));
}

ValueId ModelBuilder::max_pool(ValueId x, const Window& window, bool ceil_mode) {
  return graph_.add("MaxPool", {x},
                    {{"kernel_shape", std::vector<int64_t>{window.height, window.width}},
                     {"strides", std::vector<int64_t>{window.stride, window.stride}},
                     {"pads", std::vector<int64_t>{window.pad_height, window.pad_width,
                                                   window.pad_height, window.pad_width}},
                     {"ceil_mode", int64_t{ceil_mode}}});
}

ValueId ModelBuilder::average_pool(ValueId x, const Window& window) {
  const int64_t h = window.pad_height;
  const int64_t w = window.pad_width;
  const ValueId padded =
      graph_.add("Pad", {x}, {{"pads", std::vector<int64_t>{0, 0, h, w, 0, 0, h, w}}});
  return graph_.add("AveragePool", {padded},
                    {{"kernel_shape", std::vector<int64_t>{window.height, window.width}},
                     {"strides", std::vector<int64_t>{window.stride, window.stride}}});
}

ValueId ModelBuilder::pooled(ValueId x) {
  return graph_.add("Flatten", {graph_.add("GlobalAveragePool", {x})});
}

ValueId ModelBuilder::reshape(ValueId x, const Shape& shape) {
  return graph_.add("Reshape", {x}, {{"shape", shape}});
}

ValueId ModelBuilder::transpose(ValueId x, std::vector<int64_t> perm) {
  return graph_.add("Transpose", {x}, {{"perm", std::move(perm)}});
}

ValueId ModelBuilder::product(ValueId x, const std::string& name, int64_t outputs, double gain) {
  const int64_t inputs = shape(x).back();
  return graph_.add("MatMul", {x, weight(name + ".weight", {inputs, outputs}, inputs, gain)});
}

ValueId ModelBuilder::linear(ValueId x, const std::string& name, int64_t outputs) {
  const ValueId result = product(x, name, outputs);
  return add(offset(name + ".bias", outputs), result);
}

ValueId ModelBuilder::gemm(ValueId x, const std::string& name, int64_t outputs) {
  const int64_t inputs = shape(x).back();
  return graph_.add(
      "Gemm",
      {x, weight(name + ".weight", {outputs, inputs}, inputs), offset(name + ".bias", outputs)},
      {{"transB", int64_t{1}}});
}

ValueId ModelBuilder::layer_norm(ValueId x, const std::string& name, double epsilon) {
  const auto mean = [&](ValueId value) {
    return graph_.add("ReduceMean", {value}, {{"axes", std::vector<int64_t>{-1}}});
  };
  const int64_t size = shape(x).back();
  const ValueId centred = graph_.add("Sub", {x, mean(x)});
  const ValueId variance = mean(graph_.add("Pow", {centred, scalar(2)}));
  const ValueId deviation =
      graph_.add("Sqrt", {add(variance, scalar(static_cast<float>(epsilon)))});
  const ValueId normal = graph_.add("Div", {centred, deviation});
  const ValueId scaled = graph_.add("Mul", {normal, positive(name + ".weight", size)});
  return add(scaled, offset(name + ".bias", size));
}

ValueId ModelBuilder::gelu(ValueId x) {
  const ValueId error = graph_.add("Erf", {graph_.add("Div", {x, scalar(std::sqrt(2.0f))})});
  const ValueId gated = graph_.add("Mul", {x, add(error, scalar(1))});
  return graph_.add("Mul", {gated, scalar(0.5f)});
}

}  // namespace reverie::models
