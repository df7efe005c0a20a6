#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

using Extents = std::array<int64_t, 3>;

/// A sliding window over three spatial axes; tensors with fewer get leading ones.
struct Window {
  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Extents pad_begin{0, 0, 0}, pad_end{0, 0, 0};

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Where tap `tap` of the window at `position` reads along `axis`; may lie outside.
  int64_t at(size_t axis, int64_t position, int64_t tap) const {
    return position * stride[axis] - pad_begin[axis] + tap * dilation[axis];
  }
};

Window window_of(const KernelCall& call, std::span<const int64_t> kernel) {
  Window window;
  const Shape& x = call.inputs[0].shape();
  const size_t rank = x.size() - 2;
  const size_t lead = 3 - rank;
  const std::vector<int64_t>& strides = call.attributes.integers("strides");
  const std::vector<int64_t>& pads = call.attributes.integers("pads");
  const auto dilations = call.attributes.integers("dilations", std::vector<int64_t>(rank, 1));
  for (size_t i = 0; i < rank; ++i) {
    window.in[lead + i] = x[i + 2];
    window.out[lead + i] = call.outputs[0].shape[i + 2];
    window.kernel[lead + i] = kernel[i];
    window.stride[lead + i] = strides[i];
    window.dilation[lead + i] = dilations[i];
    window.pad_begin[lead + i] = pads[i];
    window.pad_end[lead + i] = pads[i + rank];
  }
  return window;
}

// --- Convolution as a matrix product ----------------------------------------------------------

/// Rows (depth, height) of output positions that are unfolded together, to bound the buffer.
int64_t rows_per_block(const Window& window, int64_t channels) {
  constexpr int64_t kBufferElements = int64_t{1} << 22;
  const int64_t row = std::max<int64_t>(1, channels * window.taps() * window.out[2]);
  return std::clamp<int64_t>(kBufferElements / row, 1, window.out[0] * window.out[1]);
}

/// columns[(channel, tap), position]: what each tap reads, for `rows` rows of positions from
/// `first_row` on; nought outside.
void unfold(const Window& w, const double* x, int64_t channels, int64_t first_row, int64_t rows,
            double* columns) {
  for (int64_t c = 0; c < channels; ++c, x += w.in_size())
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      const int64_t tap_d = tap / (w.kernel[1] * w.kernel[2]);
      const int64_t tap_h = tap / w.kernel[2] % w.kernel[1];
      const int64_t tap_w = tap % w.kernel[2];
      for (int64_t row = first_row; row < first_row + rows; ++row) {
        const int64_t d = w.at(0, row / w.out[1], tap_d);
        const int64_t h = w.at(1, row % w.out[1], tap_h);
        const bool inside = d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1];
        const double* line = x + (d * w.in[1] + h) * w.in[2];
        for (int64_t i = 0; i < w.out[2]; ++i) {
          const int64_t at = w.at(2, i, tap_w);
          *columns++ = inside && at >= 0 && at < w.in[2] ? line[at] : 0.0;
        }
      }
    }
}

bool is_pointwise(const Window& w) {
  const Extents ones{1, 1, 1};
  const Extents noughts{0, 0, 0};
  return w.kernel == ones && w.stride == ones && w.pad_begin == noughts && w.pad_end == noughts;
}

/// One group of one image: out[filters, positions] += filter * unfolded x.
void convolve(const Window& w, const double* x, const double* filter, double* out,
              int64_t channels, int64_t filters, std::vector<double>& buffer) {
  const int64_t inner = channels * w.taps();
  if (is_pointwise(w)) {
    gemm({.rows = filters, .columns = w.out_size(), .inner = inner, .lda = inner,
          .ldb = w.out_size(), .ldc = w.out_size(), .beta = 1},
         filter, x, out);
    return;
  }
  const int64_t block = rows_per_block(w, channels);
  const int64_t all_rows = w.out[0] * w.out[1];
  buffer.resize(static_cast<size_t>(inner * block * w.out[2]));
  for (int64_t row = 0; row < all_rows; row += block) {
    const int64_t rows = std::min(block, all_rows - row);
    unfold(w, x, channels, row, rows, buffer.data());
    gemm({.rows = filters, .columns = rows * w.out[2], .inner = inner, .lda = inner,
          .ldb = rows * w.out[2], .ldc = w.out_size(), .beta = 1},
         filter, buffer.data(), out + row * w.out[2]);
  }
}

/// What the products are added to: residual plus bias.
void initialise(const KernelCall& call, Tensor& result, int64_t positions) {
  const auto out = result.data<double>();
  if (call.has_input(3)) {
    const auto residual = call.inputs[3].data<double>();
    std::copy(residual.begin(), residual.end(), out.begin());
  } else {
    std::fill(out.begin(), out.end(), 0.0);
  }
  if (!call.has_input(2)) return;
  const auto bias = call.inputs[2].data<double>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] += bias[i / static_cast<size_t>(positions) % bias.size()];
}

std::vector<Tensor> conv(const KernelCall& call) {
  const Shape& x = call.inputs[0].shape();
  const Shape& filter = call.inputs[1].shape();
  const Window w = window_of(call, std::span(filter).subspan(2));
  const int64_t group = call.attributes.integer("group");
  const int64_t channels = filter[1];
  const int64_t filters = filter[0] / group;
  Tensor result = call.new_output();
  if (result.elements() == 0) return {result};
  initialise(call, result, w.out_size());
  const double* from = call.inputs[0].data<double>().data();
  const double* weights = call.inputs[1].data<double>().data();
  double* to = result.data<double>().data();
  std::vector<double> buffer;
  for (int64_t image = 0; image < x[0]; ++image)
    for (int64_t g = 0; g < group; ++g) {
      convolve(w, from, weights + g * filters * channels * w.taps(), to, channels, filters, buffer);
      from += channels * w.in_size();
      to += filters * w.out_size();
    }
  activate(call.attributes.text("activation"), result.data<double>());
  return {result};
}

// --- Pooling ----------------------------------------------------------------------------------

/// The taps of the window at one position: `inside` gets the offset of each that lies within the
/// input. Returns how many lie within the padded input.
int64_t taps_at(const Window& w, const Extents& position, std::vector<int64_t>& inside) {
  inside.clear();
  int64_t padded = 0;
  for (int64_t d = 0; d < w.kernel[0]; ++d)
    for (int64_t h = 0; h < w.kernel[1]; ++h)
      for (int64_t i = 0; i < w.kernel[2]; ++i) {
        const Extents at = {w.at(0, position[0], d), w.at(1, position[1], h),
                            w.at(2, position[2], i)};
        bool within = true;
        bool within_padded = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          within &= at[axis] >= 0 && at[axis] < w.in[axis];
          within_padded &= at[axis] < w.in[axis] + w.pad_end[axis];
        }
        padded += within_padded;
        if (within) inside.push_back((at[0] * w.in[1] + at[1]) * w.in[2] + at[2]);
      }
  return padded;
}

/// reduce(plane, offsets, taps within the padded input) -> element, for every window.
template <typename T, typename Reduce>
Tensor pooled(const KernelCall& call, Reduce&& reduce) {
  const Window w = window_of(call, call.attributes.integers("kernel_shape"));
  Tensor result = call.new_output();
  const T* in = call.inputs[0].data<T>().data();
  T* out = result.data<T>().data();
  const int64_t planes = call.inputs[0].shape()[0] * call.inputs[0].shape()[1];
  std::vector<int64_t> inside;
  for (int64_t at = 0; at < w.out_size(); ++at) {
    const Extents position = {at / (w.out[1] * w.out[2]), at / w.out[2] % w.out[1], at % w.out[2]};
    const int64_t padded = taps_at(w, position, inside);
    for (int64_t plane = 0; plane < planes; ++plane)
      out[plane * w.out_size() + at] = reduce(in + plane * w.in_size(), inside, padded);
  }
  return result;
}

template <typename T>
T lowest() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::min();
}

std::vector<Tensor> max_pool(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto reduce = [](const T* plane, const std::vector<int64_t>& taps, int64_t) {
      T best = lowest<T>();
      for (const int64_t tap : taps)
        if (plane[tap] > best || plane[tap] != plane[tap]) best = plane[tap];
      return best;
    };
    return std::vector<Tensor>{pooled<T>(call, reduce)};
  });
}

std::vector<Tensor> average_pool(const KernelCall& call) {
  const bool pad_counts = call.attributes.integer("count_include_pad") != 0;
  return {pooled<double>(
      call, [&](const double* plane, const std::vector<int64_t>& taps, int64_t padded) {
        double sum = 0;
        for (const int64_t tap : taps) sum += plane[tap];
        const int64_t count = pad_counts ? padded : static_cast<int64_t>(taps.size());
        return count == 0 ? 0.0 : sum / static_cast<double>(count);
      })};
}

template <bool kMax>
std::vector<Tensor> global_pool(const KernelCall& call) {
  Tensor result = call.new_output();
  const auto in = call.inputs[0].data<double>();
  const auto out = result.data<double>();
  const size_t size = out.empty() ? 0 : in.size() / out.size();
  for (size_t plane = 0; plane < out.size(); ++plane) {
    double total = kMax ? lowest<double>() : 0.0;
    for (const double x : in.subspan(plane * size, size))
      total = kMax ? std::max(total, x) : total + x;
    out[plane] = kMax ? total : total / static_cast<double>(size);
  }
  return {result};
}

}  // namespace

std::vector<KernelRow> spatial_kernels() {
  return {{"Conv", conv},
          {"MaxPool", max_pool},
          {"AveragePool", average_pool},
          {"GlobalAveragePool", global_pool<false>},
          {"GlobalMaxPool", global_pool<true>}};
}

}  // namespace reverie::reference
