#include <algorithm>
#include <cmath>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// Over each of `groups` groups of channels of each image; scale and bias have as many elements as
/// there are groups, or channels.
std::vector<Tensor> normalized_by_groups(const KernelCall& call, int64_t groups) {
  Tensor result = call.new_output();
  const auto in = call.inputs[0].data<double>();
  const auto out = result.data<double>();
  const auto scale = call.inputs[1].data<double>();
  const auto bias = call.inputs[2].data<double>();
  const double epsilon = call.attributes.number("epsilon");
  const auto pieces = static_cast<size_t>(result.shape()[0] * groups);
  const size_t size = pieces == 0 ? 0 : in.size() / pieces;
  const size_t run = scale.empty() ? 1 : size * static_cast<size_t>(groups) / scale.size();
  for (size_t piece = 0; size > 0 && piece < pieces; ++piece) {
    const auto x = in.subspan(piece * size, size);
    double mean = 0;
    for (const double value : x) mean += value / static_cast<double>(size);
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean);
    const double norm = std::sqrt(variance / static_cast<double>(size) + epsilon);
    for (size_t first = 0; first < size; first += run) {
      const size_t at = (piece * size + first) / run % scale.size();
      const double factor = scale[at] / norm;
      for (size_t i = first; i < first + run; ++i)
        out[piece * size + i] = (x[i] - mean) * factor + bias[at];
    }
  }
  return {result};
}

std::vector<Tensor> instance_normalization(const KernelCall& call) {
  return normalized_by_groups(call, call.inputs[0].shape()[1]);
}

std::vector<Tensor> group_normalization(const KernelCall& call) {
  return normalized_by_groups(call, call.attributes.integer("num_groups"));
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

/// Each run of `scale.size()` elements on its own, as RMSNormalization or as LayerNormalization
/// does.
void normalize_runs(std::span<double> data, std::span<const double> scale,
                    std::span<const double> bias, double epsilon, bool centred) {
  const size_t size = scale.size();
  const auto count = static_cast<double>(size);
  for (size_t at = 0; size > 0 && at < data.size(); at += size) {
    const auto x = data.subspan(at, size);
    double mean = 0, squares = 0;
    for (const double value : x) mean += centred ? value / count : 0;
    for (const double value : x) squares += (value - mean) * (value - mean);
    const double factor = 1 / std::sqrt(squares / count + epsilon);
    for (size_t i = 0; i < size; ++i)
      x[i] = (x[i] - mean) * factor * scale[i] + (bias.empty() ? 0 : bias[i]);
  }
}

std::vector<Tensor> normalized_over_last_axes(const KernelCall& call, bool centred) {
  Tensor result = call.new_output();
  const Shape& shape = result.shape();
  const Shape normalized(shape.begin() + call.attributes.integer("axis"), shape.end());
  const std::vector<double> bias =
      call.has_input(2) ? broadcast_to(call.inputs[2], normalized) : std::vector<double>();
  std::ranges::copy(call.inputs[0].data<double>(), result.data<double>().begin());
  normalize_runs(result.data<double>(), broadcast_to(call.inputs[1], normalized), bias,
                 call.attributes.number("epsilon"), centred);
  return {result};
}

std::vector<Tensor> layer_normalization(const KernelCall& call) {
  return normalized_over_last_axes(call, true);
}

std::vector<Tensor> rms_normalization(const KernelCall& call) {
  return normalized_over_last_axes(call, false);
}

/// `bias`: the input that is added, too.
std::vector<Tensor> skip_normalization(const KernelCall& call, size_t bias, bool centred) {
  const Shape& shape = call.outputs[0].shape;
  Tensor sum = call.new_output(1), result = call.new_output();
  const std::vector<double> skip = broadcast_to(call.inputs[1], shape);
  const auto scale = call.inputs[2].data<double>();
  const auto in = call.inputs[0].data<double>();
  for (size_t i = 0; i < in.size(); ++i) {
    const double added =
        call.has_input(bias) ? call.inputs[bias].data<double>()[i % scale.size()] : 0;
    sum.data<double>()[i] = in[i] + skip[i] + added;
  }
  std::ranges::copy(sum.data<double>(), result.data<double>().begin());
  const bool shifts = centred && call.has_input(3);
  normalize_runs(result.data<double>(), scale,
                 shifts ? call.inputs[3].data<double>() : std::span<const double>(),
                 call.attributes.number("epsilon"), centred);
  return {result, sum};
}

std::vector<Tensor> skip_layer_normalization(const KernelCall& call) {
  return skip_normalization(call, 4, true);
}

std::vector<Tensor> skip_simplified_normalization(const KernelCall& call) {
  return skip_normalization(call, 3, false);
}

}  // namespace

std::vector<KernelRow> normalization_kernels() {
  return {{"InstanceNormalization", instance_normalization},
          {"GroupNormalization", group_normalization},
          {"LRN", local_response_normalization},
          {"LpNormalization", lp_normalization},
          {"LayerNormalization", layer_normalization},
          {"RMSNormalization", rms_normalization},
          {"SkipLayerNormalization", skip_layer_normalization},
          {"SkipSimplifiedLayerNormalization", skip_simplified_normalization}};
}

}  // namespace reverie::reference
