#include <algorithm>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/window.h"
#include "core/rulekit/field/kernels.h"
#include "core/rulekit/field/prime_field.h"

namespace reverie::field {
namespace {

using reference::broadcast_strides;
using reference::for_each_run;
using reference::Run;

enum : size_t { kA, kB, kBias, kResidual };

struct Matrix {
  const uint64_t* data;
  int64_t row_step;
  int64_t column_step;
};

/// out[rows, columns] = a * b, row-major.
void multiply_matrices(const Matrix& a, const Matrix& b, int64_t rows, int64_t inner,
                       int64_t columns, uint64_t* out) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      ProductSum sum;
      for (int64_t k = 0; k < inner; ++k)
        sum.add(a.data[row * a.row_step + k * a.column_step],
                b.data[k * b.row_step + column * b.column_step]);
      *out++ = sum.value();
    }
}

FieldDegree degree_of_products(const Call& call, int64_t terms) {
  return degree_of_sum(degree_of_product(call.degree(kA), call.degree(kB)), terms);
}

void epilogue(const Call& call, FieldTensor& result, uint64_t bias_scale) {
  if (call.has_input(kBias)) add_scaled(call, result, kBias, bias_scale);
  if (call.has_input(kResidual)) add_scaled(call, result, kResidual, 1);
  activate(call, call.attributes.text("activation"), result);
}

std::vector<FieldTensor> matmul(const Call& call) {
  Shape a = call.shape(kA);
  Shape b = call.shape(kB);
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const int64_t rows = a[a.size() - 2];
  const int64_t inner = a.back();
  const int64_t columns = b.back();
  const Shape batch_a(a.begin(), a.end() - 2);
  const Shape batch_b(b.begin(), b.end() - 2);
  const Shape batch = broadcast(batch_a, batch_b);
  FieldTensor result = call.new_output(degree_of_products(call, inner));
  const uint64_t* left = call.data(kA).data();
  const uint64_t* right = call.data(kB).data();
  uint64_t* out = result.elements.data<uint64_t>().data();
  for_each_run(batch, {broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch)},
               [&](const Run& run) {
                 for (int64_t i = 0; i < run.count; ++i)
                   multiply_matrices(
                       {left + (run.offsets[0] + i * run.steps[0]) * rows * inner, inner, 1},
                       {right + (run.offsets[1] + i * run.steps[1]) * inner * columns, columns, 1},
                       rows, inner, columns, out + (run.first + i) * rows * columns);
               });
  epilogue(call, result, 1);
  return {result};
}

std::vector<FieldTensor> general_product(const Call& call) {
  const auto matrix = [&](size_t input, const char* transposed) {
    const int64_t width = call.shape(input)[1];
    return call.attributes.integer(transposed) != 0 ? Matrix{call.data(input).data(), 1, width}
                                                    : Matrix{call.data(input).data(), width, 1};
  };
  const int64_t inner = call.shape(kA)[call.attributes.integer("transA") != 0 ? 0 : 1];
  FieldTensor result = call.new_output(degree_of_products(call, inner));
  const auto elements = result.elements.data<uint64_t>();
  const Shape& shape = result.elements.shape();
  multiply_matrices(matrix(kA, "transA"), matrix(kB, "transB"), shape[0], inner, shape[1],
                    elements.data());
  const uint64_t alpha = element_of(call.attributes.number("alpha"));
  for (uint64_t& x : elements) x = multiply(alpha, x);
  epilogue(call, result, element_of(call.attributes.number("beta")));
  return {result};
}

/// One number per channel, whose planes have so many elements.
void add_bias(const Call& call, FieldTensor& result, int64_t plane) {
  const auto bias = call.data(kBias);
  const auto out = result.elements.data<uint64_t>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = add(out[i], bias[i / static_cast<size_t>(plane) % bias.size()]);
  result.degree = degree_of_sum(result.degree, call.degree(kBias));
}

std::vector<FieldTensor> convolution(const Call& call) {
  const Shape& x = call.shape(kA);
  const Shape& filter = call.shape(kB);
  FieldTensor result = call.new_output({});
  const reference::Window window = reference::window_of(x, result.elements.shape(), call.attributes,
                                                        std::span(filter).subspan(2));
  const int64_t group = call.attributes.integer("group");
  const int64_t channels = filter[1];
  const int64_t filters = filter[0] / group;
  result.degree = degree_of_products(call, channels * window.taps());
  const uint64_t* image = call.data(kA).data();
  const uint64_t* weights = call.data(kB).data();
  uint64_t* out = result.elements.data<uint64_t>().data();
  std::vector<reference::Tap> taps;
  for (int64_t position = 0; position < window.out_size(); ++position) {
    reference::taps_at(window, position, taps);
    for (int64_t plane = 0; plane < x[0] * filter[0]; ++plane) {
      const int64_t f = plane % filter[0];
      const int64_t first = plane / filter[0] * x[1] + f / filters * channels;
      ProductSum sum;
      for (int64_t c = 0; c < channels; ++c)
        for (const reference::Tap& tap : taps)
          sum.add(image[(first + c) * window.in_size() + tap.offset],
                  weights[(f * channels + c) * window.taps() + tap.tap]);
      out[plane * window.out_size() + position] = sum.value();
    }
  }
  if (call.has_input(kBias)) add_bias(call, result, window.out_size());
  if (call.has_input(kResidual)) add_scaled(call, result, kResidual, 1);
  activate(call, call.attributes.text("activation"), result);
  return {result};
}

/// Adds what every element of `image`, a plane of the input, gives to `out`, a plane of the result.
void spread(const reference::Window& window, const uint64_t* image, const uint64_t* filter,
            uint64_t* out) {
  std::vector<reference::Tap> taps;
  for (int64_t position = 0; position < window.out_size(); ++position) {
    reference::taps_at(window, position, taps);
    for (const reference::Tap& tap : taps)
      out[tap.offset] = add(out[tap.offset], multiply(image[position], filter[tap.tap]));
  }
}

std::vector<FieldTensor> transposed_convolution(const Call& call) {
  const Shape& x = call.shape(kA);
  const Shape& filter = call.shape(kB);
  const int64_t inputs = x[1] / call.attributes.integer("group");
  FieldTensor result = call.new_output({});
  // The window of the convolution whose transposition this is reads the result and writes x.
  const reference::Window window = reference::window_of(result.elements.shape(), x, call.attributes,
                                                        std::span(filter).subspan(2));
  result.degree = degree_of_products(call, inputs * window.taps());
  uint64_t* out = result.elements.data<uint64_t>().data();
  const int64_t channels = result.elements.shape()[1];
  for (int64_t plane = 0; plane < x[0] * x[1]; ++plane) {
    const int64_t c = plane % x[1];
    uint64_t* first = out + (plane / x[1] * channels + c / inputs * filter[1]) * window.in_size();
    for (int64_t f = 0; f < filter[1]; ++f)
      spread(window, call.data(kA).data() + plane * window.out_size(),
             call.data(kB).data() + (c * filter[1] + f) * window.taps(),
             first + f * window.in_size());
  }
  if (call.has_input(kBias)) add_bias(call, result, window.in_size());
  return {result};
}

}  // namespace

std::vector<Kernel> linear_kernels() {
  return {{"MatMul", matmul},
          {"Gemm", general_product},
          {"Conv", convolution},
          {"ConvTranspose", transposed_convolution}};
}

}  // namespace reverie::field
