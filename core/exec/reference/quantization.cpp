#include <algorithm>
#include <cmath>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// The numbers of a scale or zero point, one for all elements or one for each place along an axis.
struct Numbers {
  std::vector<double> values;
  int64_t inner = 1;  ///< elements of the tensor between neighbours along the axis

  double at(int64_t element) const {
    return values.size() == 1 ? values[0]
                              : values[static_cast<size_t>(element / inner) % values.size()];
  }
};

/// Noughts where the input is absent.
Numbers numbers_of(const KernelCall& call, size_t input, const Shape& shape, size_t axis) {
  if (!call.has_input(input)) return {{0.0}, 1};
  const Numbers numbers{call.inputs[input].to_doubles(), 1};
  return numbers.values.size() == 1 ? numbers
                                    : Numbers{numbers.values, contiguous_strides(shape)[axis]};
}

Tensor doubles(const Shape& shape) { return Tensor({DType::kFloat64, shape}); }

/// Rounds half to even, as runtimes do, and as they do from a quotient of single precision.
double rounded(double x) { return std::nearbyint(static_cast<double>(static_cast<float>(x))); }

/// Into the range of the type; what is no number becomes the lowest.
double saturated(double x, DType dtype) {
  const double low = dtype == DType::kInt8 ? -128 : 0;
  return std::isnan(x) ? low : std::clamp(x, low, low + 255);
}

/// Each element x with its scale and zero point.
template <class F>
std::vector<Tensor> linear(const KernelCall& call, const F& f) {
  const TensorType& type = call.outputs[0];
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  const Numbers scale = numbers_of(call, 1, type.shape, axis);
  const Numbers zero = numbers_of(call, 2, type.shape, axis);
  const std::vector<double> x = call.inputs[0].to_doubles();
  Tensor result = doubles(type.shape);
  const auto out = result.data<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    out[i] = f(x[i], scale.at(at), zero.at(at));
  }
  return {result.cast(type.dtype)};
}

std::vector<Tensor> quantize_linear(const KernelCall& call) {
  return linear(call, [dtype = call.outputs[0].dtype](double x, double scale, double zero) {
    return saturated(rounded(x / scale) + zero, dtype);
  });
}

std::vector<Tensor> dequantize_linear(const KernelCall& call) {
  return linear(call, [](double x, double scale, double zero) { return (x - zero) * scale; });
}

/// ONNX operator specification, DynamicQuantizeLinear: the range of x, made to hold 0, becomes 0 to
/// 255.
std::vector<Tensor> dynamic_quantize_linear(const KernelCall& call) {
  const std::vector<double> x = call.inputs[0].to_doubles();
  double low = 0, high = 0;
  for (const double value : x) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double range = static_cast<double>(static_cast<float>((high - low) / 255));
  const double scale = range == 0 ? 1 : range;
  const double zero = rounded(saturated(-low / scale, DType::kUInt8));
  Tensor result = doubles(call.outputs[0].shape);
  std::ranges::transform(x, result.data<double>().begin(), [&](double value) {
    return saturated(rounded(value / scale) + zero, DType::kUInt8);
  });
  return {result.cast(DType::kUInt8), Tensor::of<double>({}, {scale}).cast(call.outputs[1].dtype),
          Tensor::of<double>({}, {zero}).cast(DType::kUInt8)};
}

/// The elements less the zero point at input `zero`, one for all or one a place of `axis`.
Tensor shifted(const KernelCall& call, size_t input, size_t zero, size_t axis) {
  const Numbers zeros = numbers_of(call, zero, call.inputs[input].shape(), axis);
  Tensor result = call.inputs[input].cast(DType::kFloat64);
  const auto values = result.data<double>();
  for (size_t i = 0; i < values.size(); ++i) values[i] -= zeros.at(static_cast<int64_t>(i));
  return result;
}

/// Sums of products of whole numbers, which doubles hold exactly.
Tensor exactly(std::string_view op, const Tensor& a, const Tensor& b, const KernelCall& call) {
  Attributes attributes = call.attributes;
  attributes.set("activation", std::string("none"));
  const Tensor inputs[] = {a, b};
  const TensorType outputs[] = {{DType::kFloat64, call.outputs[0].shape}};
  return find_kernel(op_named(op))->run({inputs, outputs, attributes, call.poison})[0];
}

Tensor product(const KernelCall& call, size_t a, size_t zero_a, size_t b, size_t zero_b) {
  const auto axis = [&](size_t input, size_t from_back) {
    return call.inputs[input].shape().size() - from_back;
  };
  return exactly("MatMul", shifted(call, a, zero_a, axis(a, 2)),
                 shifted(call, b, zero_b, axis(b, 1)), call);
}

/// The result of real number sums * scale_a * scale_b, quantized for the output.
Tensor requantized(const KernelCall& call, Tensor sums, size_t scale_b, size_t axis) {
  const TensorType& type = call.outputs[0];
  const double scale_a = call.inputs[1].to_doubles()[0];
  const Numbers scales = numbers_of(call, scale_b, type.shape, axis);
  const double scale = call.inputs[6].to_doubles()[0];
  const double zero = call.inputs[7].to_doubles()[0];
  const auto values = sums.data<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    const double factor = scale_a * scales.at(static_cast<int64_t>(i)) / scale;
    values[i] = saturated(rounded(values[i] * factor) + zero, type.dtype);
  }
  return sums.cast(type.dtype);
}

std::vector<Tensor> matmul_integer(const KernelCall& call) {
  return {product(call, 0, 2, 1, 3).cast(DType::kInt32)};
}

std::vector<Tensor> qlinear_matmul(const KernelCall& call) {
  return {requantized(call, product(call, 0, 2, 3, 5), 4, call.outputs[0].shape.size() - 1)};
}

std::vector<Tensor> conv_integer(const KernelCall& call) {
  const Tensor sums = exactly("Conv", shifted(call, 0, 2, 1), shifted(call, 1, 3, 0), call);
  return {sums.cast(DType::kInt32)};
}

std::vector<Tensor> qlinear_conv(const KernelCall& call) {
  Tensor sums = exactly("Conv", shifted(call, 0, 2, 1), shifted(call, 3, 5, 0), call);
  const Numbers bias = numbers_of(call, 8, sums.shape(), 1);
  const auto values = sums.data<double>();
  for (size_t i = 0; i < values.size(); ++i) values[i] += bias.at(static_cast<int64_t>(i));
  return {requantized(call, sums, 4, 1)};
}

}  // namespace

std::vector<KernelRow> quantization_kernels() {
  return {{"QuantizeLinear", quantize_linear, KernelRow::Takes::kAny},
          {"DequantizeLinear", dequantize_linear, KernelRow::Takes::kAny},
          {"DynamicQuantizeLinear", dynamic_quantize_linear, KernelRow::Takes::kAny},
          {"MatMulInteger", matmul_integer, KernelRow::Takes::kAny},
          {"QLinearMatMul", qlinear_matmul, KernelRow::Takes::kAny},
          {"ConvInteger", conv_integer, KernelRow::Takes::kAny},
          {"QLinearConv", qlinear_conv, KernelRow::Takes::kAny}};
}

}  // namespace reverie::reference
