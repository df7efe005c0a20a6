#include <algorithm>
#include <cmath>

#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// One axis of the images that are sampled.
struct Axis {
  int64_t extent;
  bool align_corners;

  /// Where -1 to 1 spans the centres of the outermost elements, or else their outer edges.
  double position(double at) const {
    const auto size = static_cast<double>(extent);
    return align_corners ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
  }
  /// Mirrored at the outermost centres or edges until it lies within.
  double reflected(double x) const {
    const double low = align_corners ? 0 : -0.5;
    const double high = static_cast<double>(extent) - (align_corners ? 1 : 0.5);
    if (high <= low) return 0;
    const double span = high - low;
    const double beyond = std::fmod(std::abs(x - low), 2 * span);
    return low + (beyond <= span ? beyond : 2 * span - beyond);
  }
};

enum class Padding { kZeros, kBorder, kReflection };

struct Sampler {
  Axis rows, columns;
  Padding padding;

  double within(const Axis& axis, double x) const {
    if (padding == Padding::kBorder)
      return std::clamp(x, 0.0, static_cast<double>(axis.extent - 1));
    return padding == Padding::kReflection ? axis.reflected(x) : x;
  }
  int64_t index(const Axis& axis, double x) const {
    const auto at = static_cast<int64_t>(std::floor(x));
    return padding == Padding::kZeros ? at : std::clamp<int64_t>(at, 0, axis.extent - 1);
  }
  /// An element of a plane; nought outside.
  double pixel(const double* plane, double row, double column) const {
    const int64_t r = index(rows, row);
    const int64_t c = index(columns, column);
    if (r < 0 || r >= rows.extent || c < 0 || c >= columns.extent) return 0;
    return plane[r * columns.extent + c];
  }
  double nearest(const double* plane, double row, double column) const {
    return pixel(plane, std::nearbyint(row), std::nearbyint(column));
  }
  double bilinear(const double* plane, double row, double column) const {
    const double r = std::floor(row), c = std::floor(column);
    const double down = row - r, right = column - c;
    return (1 - down) * ((1 - right) * pixel(plane, r, c) + right * pixel(plane, r, c + 1)) +
           down * ((1 - right) * pixel(plane, r + 1, c) + right * pixel(plane, r + 1, c + 1));
  }
};

Sampler sampler_of(const KernelCall& call) {
  const Shape& x = call.inputs[0].shape();
  const bool align = call.attributes.integer("align_corners") != 0;
  const std::string& padding = call.attributes.text("padding_mode");
  return {{x[2], align},
          {x[3], align},
          padding == "zeros"    ? Padding::kZeros
          : padding == "border" ? Padding::kBorder
                                : Padding::kReflection};
}

std::vector<Tensor> grid_sample(const KernelCall& call) {
  Tensor result = call.new_output();
  if (result.elements() == 0) return {result};
  const Sampler sampler = sampler_of(call);
  const bool nearest = call.attributes.text("mode") == "nearest";
  const Shape& shape = result.shape();
  const int64_t places = shape[2] * shape[3];
  const int64_t plane = sampler.rows.extent * sampler.columns.extent;
  const double* x = call.inputs[0].data<double>().data();
  const double* grid = call.inputs[1].data<double>().data();
  double* out = result.data<double>().data();
  for (int64_t at = 0; at < result.elements(); ++at) {
    const int64_t image = at / (places * shape[1]);
    const double* place = grid + 2 * (image * places + at % places);
    const double column = sampler.within(sampler.columns, sampler.columns.position(place[0]));
    const double row = sampler.within(sampler.rows, sampler.rows.position(place[1]));
    const double* from = x + at / places * plane;
    out[at] = nearest ? sampler.nearest(from, row, column) : sampler.bilinear(from, row, column);
  }
  return {result};
}

}  // namespace

std::vector<KernelRow> sampling_kernels() { return {{"GridSample", grid_sample}}; }

}  // namespace reverie::reference
