#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

template <size_t N>
void require_one_of(const Attributes& attributes, std::string_view name,
                    const std::array<std::string_view, N>& known) {
  const std::string& value = attributes.text(name);
  if (std::find(known.begin(), known.end(), value) == known.end())
    throw InputError("attribute '{}' is '{}', which is not known", name, value);
}

void require_interpolation(const TensorType& x, const Attributes& attributes) {
  require_one_of<3>(attributes, "mode", {"nearest", "linear", "cubic"});
  require_one_of<5>(
      attributes, "coordinate_transformation_mode",
      {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"});
  require_one_of<4>(attributes, "nearest_mode",
                    {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (attributes.text("mode") != "nearest") require_floating(x);
}

/// Extents times scales, in single precision as runtimes multiply them, rounded down.
Shape scaled_extents(const Shape& shape, const std::vector<double>& scales) {
  constexpr float kMostElements = 0x1.0p40F;
  if (scales.size() != shape.size())
    throw InputError("{} scales for {} axes", scales.size(), shape.size());
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const float extent = std::floor(static_cast<float>(shape[i]) * static_cast<float>(scales[i]));
    if (!(scales[i] > 0) || !(extent <= kMostElements))
      throw InputError("cannot scale an extent of {} by {}", shape[i], scales[i]);
    result.push_back(static_cast<int64_t>(extent));
  }
  return result;
}

/// Scales are of single precision, and a list of whole numbers reads as one of integers. What the
/// mode does not use has its default.
void normalize_resize(Attributes& attributes, std::span<const TensorType>) {
  std::vector<double> scales;
  if (const AttrValue* given = attributes.find("scales")) {
    if (const auto* whole = std::get_if<std::vector<int64_t>>(given))
      scales.assign(whole->begin(), whole->end());
    else if (const auto* numbers = std::get_if<std::vector<double>>(given))
      scales = *numbers;
    for (double& scale : scales) scale = static_cast<double>(static_cast<float>(scale));
    attributes.set("scales", std::move(scales));
  }
  const std::string mode = attributes.text("mode");
  if (mode != "nearest") attributes.set("nearest_mode", std::string("round_prefer_floor"));
  if (mode == "cubic") return;
  attributes.set("cubic_coeff_a", -0.75);
  attributes.set("exclude_outside", int64_t{0});
}

Types infer_resize(const OpContext& node) {
  const TensorType& x = node.inputs[0];
  const AttrValue* scales = node.attributes.find("scales");
  require_numeric(x);
  require_interpolation(x, node.attributes);
  if ((scales != nullptr) == node.attributes.has("sizes"))
    throw InputError("takes scales or sizes");
  TensorType result = x;
  if (scales != nullptr) {
    result.shape = scaled_extents(x.shape, std::get<std::vector<double>>(*scales));
  } else {
    require_integers(node.attributes, "sizes", x.shape.size(), 0);
    result.shape = node.attributes.integers("sizes");
  }
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (x.shape[i] == 0 && result.shape[i] != 0)
      throw InputError("cannot make {} elements of an extent of 0", result.shape[i]);
  return {std::move(result)};
}

/// Elements that one is computed from along an axis.
int64_t taps_of(const Attributes& attributes) {
  const std::string& mode = attributes.text("mode");
  return mode == "cubic" ? 4 : mode == "linear" ? 2 : 0;
}

OpSchema resize_row() {
  OpSchema row;
  row.name = "Resize";
  row.range = range::finite;
  row.min_inputs = row.max_inputs = 1;
  row.attributes = {
      optional("scales"),
      optional("sizes"),
      {.name = "mode", .fallback = std::string("nearest")},
      {.name = "coordinate_transformation_mode", .fallback = std::string("half_pixel")},
      {.name = "nearest_mode", .fallback = std::string("round_prefer_floor")},
      {.name = "cubic_coeff_a", .fallback = -0.75},
      {.name = "exclude_outside", .fallback = int64_t{0}}};
  row.normalize = normalize_resize;
  row.infer = infer_resize;
  row.flops = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    const TensorType& y = node.outputs[0];
    int64_t axes = 0;
    for (size_t i = 0; i < x.shape.size(); ++i) axes += x.shape[i] != y.shape[i];
    return 2 * taps_of(node.attributes) * axes * y.elements();
  };
  return row;
}

/// Images, and for each element of the result where it lies in them: -1 to 1 along columns, rows.
Types infer_grid_sample(const OpContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& grid = node.inputs[1];
  require_one_of<2>(node.attributes, "mode", {"bilinear", "nearest"});
  require_one_of<3>(node.attributes, "padding_mode", {"zeros", "border", "reflection"});
  require_floating(x);
  require_floating(grid);
  if (x.rank() != 4 || grid.rank() != 4 || grid.shape[0] != x.shape[0] || grid.shape[3] != 2)
    throw InputError("cannot sample {} at {}", to_string(x.shape), to_string(grid.shape));
  if (x.shape[2] == 0 || x.shape[3] == 0) throw InputError("cannot sample empty images");
  return {{x.dtype, {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]}}};
}

OpSchema grid_sample() {
  OpSchema row;
  row.name = "GridSample";
  row.range = range::finite;
  row.min_inputs = row.max_inputs = 2;
  row.attributes = {{.name = "mode", .fallback = std::string("bilinear")},
                    {.name = "padding_mode", .fallback = std::string("zeros")},
                    {.name = "align_corners", .fallback = int64_t{0}}};
  row.infer = infer_grid_sample;
  row.steps = [](const OpContext& node) { return node.attributes.text("mode") == "nearest"; };
  row.flops = [](const OpContext& node) { return 8 * node.outputs[0].elements(); };
  return row;
}

}  // namespace

std::vector<OpSchema> resize() { return {resize_row(), grid_sample()}; }

}  // namespace reverie::ops
