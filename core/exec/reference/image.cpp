#include <algorithm>
#include <cmath>

#include "core/exec/reference/kernels.h"
#include "core/exec/reference/window.h"

namespace reverie::reference {
namespace {

/// The window of the convolution whose transposition this is: it reads the result and writes `x`.
Window transposed_window(const KernelCall& call, const Tensor& result) {
  const Shape& filter = call.inputs[1].shape();
  return window_of(result.shape(), call.inputs[0].shape(), call.attributes,
                   std::span(filter).subspan(2));
}

/// One group of one image: adds columns[(channel, tap), position] to where each tap reads.
void fold_columns(const Window& w, const double* columns, int64_t channels, double* out) {
  std::vector<Tap> inside;
  for (int64_t position = 0; position < w.out_size(); ++position) {
    taps_at(w, position, inside);
    for (int64_t c = 0; c < channels; ++c)
      for (const Tap& tap : inside)
        out[c * w.in_size() + tap.offset] +=
            columns[(c * w.taps() + tap.tap) * w.out_size() + position];
  }
}

void start_with_bias(const KernelCall& call, Tensor& result) {
  const auto out = result.data<double>();
  std::fill(out.begin(), out.end(), 0.0);
  if (!call.has_input(2)) return;
  const auto bias = call.inputs[2].data<double>();
  const size_t plane = out.size() / (static_cast<size_t>(result.shape()[0]) * bias.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] += bias[i / plane % bias.size()];
}

std::vector<Tensor> conv_transpose(const KernelCall& call) {
  const Shape& x = call.inputs[0].shape();
  const Shape& filter = call.inputs[1].shape();
  const int64_t group = call.attributes.integer("group");
  const int64_t inputs = x[1] / group;
  Tensor result = call.new_output();
  if (result.elements() == 0) return {result};
  start_with_bias(call, result);
  const Window w = transposed_window(call, result);
  const int64_t rows = filter[1] * w.taps();
  std::vector<double> columns(static_cast<size_t>(rows * w.out_size()));
  const double* from = call.inputs[0].data<double>().data();
  const double* weights = call.inputs[1].data<double>().data();
  double* to = result.data<double>().data();
  for (int64_t image = 0; image < x[0]; ++image)
    for (int64_t g = 0; g < group; ++g) {
      gemm({.rows = rows,
            .columns = w.out_size(),
            .inner = inputs,
            .trans_a = true,
            .lda = rows,
            .ldb = w.out_size(),
            .ldc = w.out_size()},
           weights + g * inputs * rows, from, columns.data());
      fold_columns(w, columns.data(), filter[1], to);
      from += inputs * w.out_size();
      to += filter[1] * w.in_size();
    }
  return {result};
}

double norm_of(std::span<const double> powers, double p) {
  double sum = 0;
  for (const double power : powers) sum += power;
  return std::pow(sum, 1 / p);
}

std::vector<Tensor> lp_pool(const KernelCall& call) {
  const auto p = static_cast<double>(call.attributes.integer("p"));
  Tensor result = call.new_output();
  const Window w = window_of(call.inputs[0].shape(), result.shape(), call.attributes,
                             call.attributes.integers("kernel_shape"));
  const double* in = call.inputs[0].data<double>().data();
  double* out = result.data<double>().data();
  const int64_t planes = result.shape()[0] * result.shape()[1];
  std::vector<Tap> inside;
  std::vector<double> powers;
  for (int64_t at = 0; at < w.out_size(); ++at) {
    taps_at(w, at, inside);
    for (int64_t plane = 0; plane < planes; ++plane) {
      powers.clear();
      for (const Tap& tap : inside)
        powers.push_back(std::pow(std::abs(in[plane * w.in_size() + tap.offset]), p));
      out[plane * w.out_size() + at] = norm_of(powers, p);
    }
  }
  return {result};
}

std::vector<Tensor> global_lp_pool(const KernelCall& call) {
  const auto p = static_cast<double>(call.attributes.integer("p"));
  Tensor result = call.new_output();
  const auto in = call.inputs[0].data<double>();
  const auto out = result.data<double>();
  const size_t size = out.empty() ? 0 : in.size() / out.size();
  for (size_t plane = 0; plane < out.size(); ++plane) {
    std::vector<double> powers;
    for (const double x : in.subspan(plane * size, size))
      powers.push_back(std::pow(std::abs(x), p));
    out[plane] = norm_of(powers, p);
  }
  return {result};
}

}  // namespace

std::vector<KernelRow> image_kernels() {
  return {{"ConvTranspose", conv_transpose}, {"LpPool", lp_pool}, {"GlobalLpPool", global_lp_pool}};
}

}  // namespace reverie::reference
