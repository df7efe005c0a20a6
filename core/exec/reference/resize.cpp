#include <algorithm>
#include <array>
#include <cmath>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// How the elements along one axis are computed: each from `taps` elements of the input.
struct AxisMap {
  int64_t in = 1;
  int64_t out = 1;
  int64_t taps = 1;
  bool changes = false;
  std::vector<int64_t> indices;  // out x taps
  std::vector<double> weights;
};

/// Where an element of the result lies in the input. In single precision, as runtimes compute it:
/// at a step a rounding error decides which element is the nearest.
float coordinate(std::string_view mode, float position, float scale, int64_t in, int64_t out) {
  if (mode == "asymmetric") return position / scale;
  if (mode == "tf_half_pixel_for_nn") return (position + 0.5F) / scale;
  if (mode == "align_corners")
    return out == 1 ? 0.0F : position * static_cast<float>(in - 1) / static_cast<float>(out - 1);
  if (mode == "pytorch_half_pixel" && out == 1) return 0.0F;
  return (position + 0.5F) / scale - 0.5F;
}

int64_t nearest(std::string_view mode, float x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  const bool halfway = x == std::trunc(x) + 0.5F;
  if (mode == "round_prefer_floor" && halfway) return static_cast<int64_t>(x);
  return static_cast<int64_t>(std::round(x));
}

/// Weights of the four elements around a point, `s` behind the second (Keys, 1981).
std::array<double, 4> cubic_weights(double s, double a) {
  const auto near = [a](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  const auto far = [a](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  return {far(1 + s), near(s), near(1 - s), far(2 - s)};
}

void add_cubic(const Attributes& attributes, float x, AxisMap& map) {
  const auto first = static_cast<int64_t>(std::floor(x)) - 1;
  auto weights = cubic_weights(static_cast<double>(x) - std::floor(static_cast<double>(x)),
                               attributes.number("cubic_coeff_a"));
  const auto inside = [&](int64_t at) { return at >= 0 && at < map.in; };
  if (attributes.integer("exclude_outside") != 0) {
    double total = 0;
    for (size_t i = 0; i < 4; ++i)
      total += inside(first + static_cast<int64_t>(i)) ? weights[i] : weights[i] = 0;
    for (double& weight : weights) weight /= total;
  }
  for (size_t i = 0; i < 4; ++i) {
    map.indices.push_back(std::clamp<int64_t>(first + static_cast<int64_t>(i), 0, map.in - 1));
    map.weights.push_back(weights[i]);
  }
}

void add_linear(float x, AxisMap& map) {
  const float within = std::clamp(x, 0.0F, static_cast<float>(map.in - 1));
  const auto first = static_cast<int64_t>(within);
  const double share = static_cast<double>(within) - static_cast<double>(first);
  map.indices.insert(map.indices.end(), {first, std::min(first + 1, map.in - 1)});
  map.weights.insert(map.weights.end(), {1 - share, share});
}

AxisMap map_of(const Attributes& attributes, int64_t in, int64_t out, float scale) {
  const std::string& mode = attributes.text("mode");
  const std::string& transformation = attributes.text("coordinate_transformation_mode");
  const std::string& rounding = attributes.text("nearest_mode");
  AxisMap map;
  map.in = in;
  map.out = out;
  map.changes = in != out || scale != 1;
  map.taps = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
  for (int64_t i = 0; map.changes && i < out; ++i) {
    const float x = coordinate(transformation, static_cast<float>(i), scale, in, out);
    if (mode == "cubic") add_cubic(attributes, x, map);
    if (mode == "linear") add_linear(x, map);
    if (mode == "nearest")
      map.indices.push_back(std::clamp<int64_t>(nearest(rounding, x), 0, in - 1));
  }
  return map;
}

std::vector<AxisMap> maps_of(const KernelCall& call) {
  const Shape& in = call.inputs[0].shape();
  const Shape& out = call.outputs[0].shape;
  const AttrValue* scales = call.attributes.find("scales");
  std::vector<AxisMap> maps;
  for (size_t i = 0; i < in.size(); ++i) {
    const float scale =
        scales != nullptr
            ? static_cast<float>(std::get<std::vector<double>>(*scales)[i])
            : static_cast<float>(out[i]) / static_cast<float>(std::max<int64_t>(in[i], 1));
    maps.push_back(map_of(call.attributes, in[i], out[i], scale));
  }
  return maps;
}

Tensor pick_nearest(const KernelCall& call, const std::vector<AxisMap>& maps) {
  Tensor result = call.new_output();
  const Strides strides = contiguous_strides(call.inputs[0].shape());
  std::vector<AxisOffsets> axes;
  for (size_t i = 0; i < maps.size(); ++i) {
    AxisOffsets& offsets = axes.emplace_back();
    for (int64_t at = 0; at < maps[i].out; ++at)
      offsets.push_back(strides[i] *
                        (maps[i].changes ? maps[i].indices[static_cast<size_t>(at)] : at));
  }
  copy_mapped(call.inputs[0].bytes(), result.bytes(), size_of(result.type().dtype), axes, nullptr);
  return result;
}

/// Along one axis: [outer, in, inner] to [outer, out, inner].
std::vector<double> interpolated(const AxisMap& map, std::span<const double> x, int64_t outer,
                                 int64_t inner) {
  std::vector<double> result(static_cast<size_t>(outer * map.out * inner), 0.0);
  double* to = result.data();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t at = 0; at < map.out; ++at, to += inner)
      for (int64_t tap = 0; tap < map.taps; ++tap) {
        const auto number = static_cast<size_t>(at * map.taps + tap);
        const double* from = x.data() + (o * map.in + map.indices[number]) * inner;
        for (int64_t i = 0; i < inner; ++i) to[i] += map.weights[number] * from[i];
      }
  return result;
}

Tensor interpolate(const KernelCall& call, const std::vector<AxisMap>& maps) {
  const auto in = call.inputs[0].data<double>();
  std::vector<double> values(in.begin(), in.end());
  int64_t outer = 1;
  int64_t inner = call.inputs[0].elements();
  for (const AxisMap& map : maps) {
    if (inner == 0) break;
    inner /= map.in;
    if (map.changes) values = interpolated(map, values, outer, inner);
    outer *= map.out;
  }
  Tensor result = call.new_output();
  std::copy(values.begin(), values.end(), result.data<double>().begin());
  return result;
}

std::vector<Tensor> resize(const KernelCall& call) {
  if (element_count(call.outputs[0].shape) == 0) return {call.new_output()};
  // As in ONNX Runtime, whatever the scales.
  if (call.outputs[0].shape == call.inputs[0].shape()) return {call.inputs[0]};
  const std::vector<AxisMap> maps = maps_of(call);
  if (call.attributes.text("mode") == "nearest") return {pick_nearest(call, maps)};
  return {interpolate(call, maps)};
}

}  // namespace

std::vector<KernelRow> resize_kernels() { return {{"Resize", resize}}; }

}  // namespace reverie::reference
