#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>

#include "core/exec/reference/kernels.h"
#include "core/exec/reference/window.h"

namespace reverie::reference {
namespace {

// --- Convolution as a matrix product ----------------------------------------------------------

/// Rows (depth, height) of output positions that are unfolded together, to bound the buffer.
int64_t rows_per_block(const Window& window, int64_t channels) {
  constexpr int64_t kBufferElements = int64_t{1} << 17;  // stays in the cache
  const int64_t row = std::max<int64_t>(1, channels * window.taps() * window.out[2]);
  return std::clamp<int64_t>(kBufferElements / row, 1, window.out[0] * window.out[1]);
}

/// Positions [from, to) along an axis at which a tap reads within the input, the first of them at
/// `at`.
struct Reach {
  int64_t from, to, at;
};

Reach reach_of(const Window& w, size_t axis, int64_t tap) {
  const int64_t stride = w.stride[axis], shift = w.at(axis, 0, tap);
  const auto first_at_least = [&](int64_t place) {  // position that reads there or behind it
    return std::clamp<int64_t>(place <= shift ? 0 : (place - shift + stride - 1) / stride, 0,
                               w.out[axis]);
  };
  const int64_t from = first_at_least(0);
  return {from, std::max(from, first_at_least(w.in[axis])), shift + from * stride};
}

/// columns[(channel, tap), position]: what each tap reads, for `rows` rows of positions from
/// `first_row` on; nought outside.
void unfold(const Window& w, const double* x, int64_t channels, int64_t first_row, int64_t rows,
            double* columns) {
  for (int64_t c = 0; c < channels; ++c, x += w.in_size())
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      const int64_t tap_d = tap / (w.kernel[1] * w.kernel[2]);
      const int64_t tap_h = tap / w.kernel[2] % w.kernel[1];
      const Reach reach = reach_of(w, 2, tap % w.kernel[2]);
      for (int64_t row = first_row; row < first_row + rows; ++row, columns += w.out[2]) {
        const int64_t d = w.at(0, row / w.out[1], tap_d);
        const int64_t h = w.at(1, row % w.out[1], tap_h);
        if (d < 0 || d >= w.in[0] || h < 0 || h >= w.in[1] || reach.from == reach.to) {
          std::fill_n(columns, w.out[2], 0.0);
          continue;
        }
        const double* line = x + (d * w.in[1] + h) * w.in[2] + reach.at;
        std::fill(columns, columns + reach.from, 0.0);
        for (int64_t i = reach.from; i < reach.to; ++i)
          columns[i] = line[(i - reach.from) * w.stride[2]];
        std::fill(columns + reach.to, columns + w.out[2], 0.0);
      }
    }
}

bool is_pointwise(const Window& w) {
  const Extents ones{1, 1, 1};
  const Extents noughts{0, 0, 0};
  return w.kernel == ones && w.stride == ones && w.pad_begin == noughts && w.pad_end == noughts;
}

/// What one tap adds to a row of outputs: weight * from[i * stride], for i where it reaches.
struct Line {
  double weight;
  const double* from;  // of output 0; may lie outside
  Reach reach;
};

/// Outputs [first, last) of a row, kAtOnce of them at a time in registers as far as that goes;
/// returns the next one. All lines reach them.
template <int64_t kAtOnce>
int64_t add_inside(std::span<const Line> lines, int64_t stride, int64_t first, int64_t last,
                   double* out) {
  for (; first + kAtOnce <= last; first += kAtOnce) {
    double sums[kAtOnce];
    std::copy_n(out + first, kAtOnce, sums);
    if (stride == 1) {
      for (const Line& line : lines)
        for (int64_t j = 0; j < kAtOnce; ++j) sums[j] += line.weight * line.from[first + j];
    } else {
      for (const Line& line : lines)
        for (int64_t j = 0; j < kAtOnce; ++j)
          sums[j] += line.weight * line.from[(first + j) * stride];
    }
    std::copy_n(sums, kAtOnce, out + first);
  }
  return first;
}

void add_lines(std::span<const Line> lines, int64_t stride, int64_t count, double* out) {
  int64_t first = 0, last = count;
  for (const Line& line : lines) {
    first = std::max(first, line.reach.from);
    last = std::min(last, line.reach.to);
  }
  if (first >= last) first = last = count;
  for (const Line& line : lines) {
    const auto add = [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) out[i] += line.weight * line.from[i * stride];
    };
    add(line.reach.from, std::min(line.reach.to, first));
    add(std::max(line.reach.from, last), line.reach.to);
  }
  first = add_inside<16>(lines, stride, first, last, out);
  first = add_inside<4>(lines, stride, first, last, out);
  add_inside<1>(lines, stride, first, last, out);
}

/// The same as `convolve` tap by tap: for few filters, to which a product of matrices would be no
/// help.
void convolve_directly(const Window& w, const double* x, const double* filter, double* out,
                       int64_t channels, int64_t filters) {
  std::vector<Reach> reaches;
  for (int64_t tap = 0; tap < w.kernel[2]; ++tap) reaches.push_back(reach_of(w, 2, tap));
  std::vector<Line> lines;
  for (int64_t row = 0; row < w.out[0] * w.out[1]; ++row)
    for (int64_t f = 0; f < filters; ++f) {
      lines.clear();
      const double* weight = filter + f * channels * w.taps();
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tap = 0; tap < w.taps(); ++tap, ++weight) {
          const int64_t d = w.at(0, row / w.out[1], tap / (w.kernel[1] * w.kernel[2]));
          const int64_t h = w.at(1, row % w.out[1], tap / w.kernel[2] % w.kernel[1]);
          const Reach& reach = reaches[static_cast<size_t>(tap % w.kernel[2])];
          if (d < 0 || d >= w.in[0] || h < 0 || h >= w.in[1] || reach.from == reach.to) continue;
          const double* from =
              x + ((c * w.in[0] + d) * w.in[1] + h) * w.in[2] + reach.at - reach.from * w.stride[2];
          lines.push_back({*weight, from, reach});
        }
      add_lines(lines, w.stride[2], w.out[2], out + f * w.out_size() + row * w.out[2]);
    }
}

/// One group of one image: out[filters, positions] += filter * unfolded x.
void convolve(const Window& w, const double* x, const double* filter, double* out, int64_t channels,
              int64_t filters, std::vector<double>& buffer) {
  constexpr int64_t kFewFilters = 4;
  if (filters < kFewFilters) return convolve_directly(w, x, filter, out, channels, filters);
  const int64_t inner = channels * w.taps();
  if (is_pointwise(w)) {
    gemm({.rows = filters,
          .columns = w.out_size(),
          .inner = inner,
          .lda = inner,
          .ldb = w.out_size(),
          .ldc = w.out_size(),
          .beta = 1},
         filter, x, out);
    return;
  }
  const int64_t block = rows_per_block(w, channels);
  const int64_t all_rows = w.out[0] * w.out[1];
  buffer.resize(static_cast<size_t>(inner * block * w.out[2]));
  for (int64_t row = 0; row < all_rows; row += block) {
    const int64_t rows = std::min(block, all_rows - row);
    unfold(w, x, channels, row, rows, buffer.data());
    gemm({.rows = filters,
          .columns = rows * w.out[2],
          .inner = inner,
          .lda = inner,
          .ldb = rows * w.out[2],
          .ldc = w.out_size(),
          .beta = 1},
         filter, buffer.data(), out + row * w.out[2]);
  }
}

/// What the products are added to: residual plus bias.
void initialise(const KernelCall& call, Tensor& result, int64_t positions) {
  const auto out = result.data<double>();
  const auto plane = static_cast<size_t>(positions);
  const std::span<const double> bias =
      call.has_input(2) ? call.inputs[2].data<double>() : std::span<const double>();
  const double* residual = call.has_input(3) ? call.inputs[3].data<double>().data() : nullptr;
  for (size_t first = 0, channel = 0; first < out.size(); first += plane, ++channel) {
    const double shift = bias.empty() ? 0 : bias[channel % bias.size()];
    if (residual == nullptr)
      std::fill_n(out.begin() + static_cast<int64_t>(first), plane, shift);
    else
      for (size_t i = first; i < first + plane; ++i) out[i] = residual[i] + shift;
  }
}

std::vector<Tensor> conv(const KernelCall& call) {
  const Shape& x = call.inputs[0].shape();
  const Shape& filter = call.inputs[1].shape();
  const int64_t group = call.attributes.integer("group");
  const int64_t channels = filter[1];
  const int64_t filters = filter[0] / group;
  Tensor result = call.new_output();
  if (result.elements() == 0) return {result};
  const Window w = window_of(x, result.shape(), call.attributes, std::span(filter).subspan(2));
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

/// reduce(plane, taps within the input, taps within the padded input) -> element, for every window.
/// Taps are listed for a row of windows at a time, for all planes.
template <typename T, typename Reduce>
Tensor pooled(const KernelCall& call, Reduce&& reduce) {
  struct Place {
    std::vector<Tap> inside;
    int64_t padded;
  };
  Tensor result = call.new_output();
  const Window w = window_of(call.inputs[0].shape(), result.shape(), call.attributes,
                             call.attributes.integers("kernel_shape"));
  const T* in = call.inputs[0].data<T>().data();
  T* out = result.data<T>().data();
  const int64_t planes = call.inputs[0].shape()[0] * call.inputs[0].shape()[1];
  std::vector<Place> row(static_cast<size_t>(w.out[2]));
  for (int64_t first = 0; first < w.out_size(); first += w.out[2]) {
    for (int64_t i = 0; i < w.out[2]; ++i) {
      Place& place = row[static_cast<size_t>(i)];
      place.padded = taps_at(w, first + i, place.inside);
    }
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t i = 0; i < w.out[2]; ++i) {
        const Place& place = row[static_cast<size_t>(i)];
        out[plane * w.out_size() + first + i] =
            reduce(in + plane * w.in_size(), place.inside, place.padded);
      }
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
    const auto reduce = [](const T* plane, const std::vector<Tap>& taps, int64_t) {
      T best = lowest<T>();
      for (const Tap& tap : taps)
        if (const T x = plane[tap.offset]; x > best || x != x) best = x;
      return best;
    };
    return std::vector<Tensor>{pooled<T>(call, reduce)};
  });
}

std::vector<Tensor> average_pool(const KernelCall& call) {
  const bool pad_counts = call.attributes.integer("count_include_pad") != 0;
  return {
      pooled<double>(call, [&](const double* plane, const std::vector<Tap>& taps, int64_t padded) {
        double sum = 0;
        for (const Tap& tap : taps) sum += plane[tap.offset];
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
