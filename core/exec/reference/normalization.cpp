#include <algorithm>
#include <cmath>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

std::vector<Tensor> instance_normalization(const KernelCall& call) {
  Tensor result = call.new_output();
  const auto in = call.inputs[0].data<double>();
  const auto out = result.data<double>();
  const auto scale = call.inputs[1].data<double>();
  const auto bias = call.inputs[2].data<double>();
  const double epsilon = call.attributes.number("epsilon");
  const auto planes = static_cast<size_t>(result.shape()[0] * result.shape()[1]);
  const size_t size = planes == 0 ? 0 : in.size() / planes;
  for (size_t plane = 0; size > 0 && plane < planes; ++plane) {
    const auto x = in.subspan(plane * size, size);
    const size_t channel = plane % scale.size();
    double mean = 0;
    for (const double value : x) mean += value / static_cast<double>(size);
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean);
    variance /= static_cast<double>(size);
    const double factor = scale[channel] / std::sqrt(variance + epsilon);
    for (size_t i = 0; i < size; ++i)
      out[plane * size + i] = (x[i] - mean) * factor + bias[channel];
  }
  return {result};
}

/// ONNX operator specification, LRN: channel c sums the squares of the channels from
/// c - floor((size - 1) / 2) to c + ceil((size - 1) / 2).
std::vector<Tensor> local_response_normalization(const KernelCall& call) {
  Tensor result = call.new_output();
  const Attributes& attributes = call.attributes;
  const int64_t size = attributes.integer("size");
  const double alpha = attributes.number("alpha") / static_cast<double>(size);
  const double beta = attributes.number("beta"), bias = attributes.number("bias");
  const Shape& shape = result.shape();
  const int64_t channels = shape[1];
  const int64_t inner = contiguous_strides(shape)[1];
  const double* in = call.inputs[0].data<double>().data();
  double* out = result.data<double>().data();
  for (int64_t i = 0; i < result.elements(); ++i) {
    const int64_t c = i / inner % channels;
    double sum = 0;
    for (int64_t other = std::max<int64_t>(c - (size - 1) / 2, 0);
         other <= std::min(c + size / 2, channels - 1); ++other) {
      const double x = in[i + (other - c) * inner];
      sum += x * x;
    }
    out[i] = in[i] / std::pow(bias + alpha * sum, beta);
  }
  return {result};
}

std::vector<Tensor> lp_normalization(const KernelCall& call) {
  Tensor result = call.new_output();
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  const bool absolute = call.attributes.integer("p") == 1;
  const int64_t extent = result.shape()[axis];
  const int64_t inner = contiguous_strides(result.shape())[axis];
  const double* in = call.inputs[0].data<double>().data();
  double* out = result.data<double>().data();
  for (int64_t lane = 0; extent > 0 && lane < result.elements() / extent; ++lane) {
    const int64_t first = lane / inner * inner * extent + lane % inner;
    const int64_t end = first + extent * inner;
    double norm = 0;
    for (int64_t i = first; i < end; i += inner) norm += absolute ? std::abs(in[i]) : in[i] * in[i];
    if (!absolute) norm = std::sqrt(norm);
    // Runtimes leave a lane of noughts as it is.
    for (int64_t i = first; i < end; i += inner) out[i] = norm == 0 ? 0 : in[i] / norm;
  }
  return {result};
}

}  // namespace

std::vector<KernelRow> normalization_kernels() {
  return {{"InstanceNormalization", instance_normalization},
          {"LRN", local_response_normalization},
          {"LpNormalization", lp_normalization}};
}

}  // namespace reverie::reference
