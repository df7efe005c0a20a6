#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "core/base/error.h"
#include "core/onnx/convert.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/older_resize.h"

namespace reverie::proto {
namespace {

/// The extents that the node asks for itself; nullopt where its pads decide.
std::optional<Shape> wanted_extents(const Source& source, std::string_view mode,
                                    const std::vector<int64_t>& strides) {
  if (source.attributes.has("output_shape")) return source.attributes.integers("output_shape");
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") return std::nullopt;
  Shape extents = strides;
  for (size_t i = 0; i < extents.size(); ++i) extents[i] *= source.type(0).shape[i + 2];
  return extents;
}

/// `output_shape` and `auto_pad` turned into `pads` (ONNX operator specification, ConvTranspose).
/// False where opsets and runtimes disagree about them.
bool resolve_output_shape(Source& source, const Shape& kernel) {
  const std::string mode = source.attributes.text("auto_pad", "NOTSET");
  const size_t rank = kernel.size();
  const std::vector<int64_t> ones(rank, 1);
  const auto strides = source.attributes.integers("strides", ones);
  const auto dilations = source.attributes.integers("dilations", ones);
  auto padding = source.attributes.integers("output_padding", std::vector<int64_t>(rank, 0));
  const Shape& x = source.type(0).shape;
  for (const Shape* list : {&kernel, &strides, &dilations})
    if (!are_usual(*list, 1) || list->size() != rank) return false;
  if (!are_usual(x, 0) || x.size() != rank + 2 || !are_usual(padding, 0) || padding.size() != rank)
    return false;
  const std::optional<Shape> wanted = wanted_extents(source, mode, strides);
  const bool is_given = source.attributes.has("output_shape");
  source.attributes.erase("auto_pad");
  source.attributes.erase("output_shape");
  if (mode == "VALID") source.attributes.erase("pads");
  if (!wanted) return mode == "NOTSET" || mode == "VALID";
  if (wanted->size() != rank) return false;
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t surplus = strides[i] * (x[i + 2] - 1) + padding[i] +
                            (kernel[i] - 1) * dilations[i] + 1 - (*wanted)[i];
    constexpr int kHalvesSettledSince = 11;
    if (surplus % 2 > 0 && source.opset < kHalvesSettledSince) return false;
    if (surplus < 0 && !is_given) return false;
    padding[i] += std::max<int64_t>(-surplus, 0);  // what is missing is added at the end
    const int64_t total = std::max<int64_t>(surplus, 0);
    pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[i + rank] = total - pads[i];
  }
  source.attributes.set("pads", std::move(pads));
  source.attributes.set("output_padding", std::move(padding));
  return true;
}

std::optional<Values> conv_transpose(Source& source) {
  if (!resolve_output_shape(source, take_kernel(source))) return std::nullopt;
  return convert_as_is(source);
}

/// The elements of a constant input in single precision; none where it is absent. nullopt where it
/// is not constant.
std::optional<std::vector<double>> floats_at(const Source& source, size_t index) {
  if (!source.has_input(index)) return std::vector<double>{};
  const auto tensor = source.constant(index);
  return tensor ? std::optional(tensor->to_doubles()) : std::nullopt;
}

/// Whether an extent becomes a broken number, which runtimes round down sooner or later.
bool breaks_extents(const Shape& shape, const std::vector<double>& scales) {
  for (size_t i = 0; i < std::min(shape.size(), scales.size()); ++i) {
    const float extent = static_cast<float>(shape[i]) * static_cast<float>(scales[i]);
    if (extent != std::floor(extent)) return true;
  }
  return false;
}

std::optional<Values> older_resize(Source& source, std::vector<double> scales) {
  if (!has_one_reading(source.attributes.text("mode", "nearest"), scales)) return std::nullopt;
  Attributes attributes = {{"mode", source.attributes.text("mode", "nearest")},
                           {"coordinate_transformation_mode", std::string("asymmetric")},
                           {"nearest_mode", std::string("floor")}};
  attributes.set("scales", std::move(scales));
  return source.add("Resize", {source.inputs[0]}, std::move(attributes));
}

/// Entries of some axes (since opset 18) as those of all, `others` elsewhere. InputError when they
/// do not fit.
template <typename T>
std::vector<T> of_all_axes(const std::vector<T>& entries, const std::vector<int64_t>& axes,
                           std::vector<T> others) {
  if (entries.size() != axes.size())
    throw InputError("has {} extents for {} axes", entries.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    others[static_cast<size_t>(normalize_axis(axes[i], static_cast<int>(others.size())))] =
        entries[i];
  return others;
}

std::optional<Values> resize(Source& source) {
  if (source.opset < kNewerResizeSince) {
    const auto scales = floats_at(source, 1);
    return scales ? older_resize(source, *scales) : std::nullopt;
  }
  auto scales = floats_at(source, 2);
  if (!scales) return std::nullopt;
  source.attributes.erase("extrapolation_value");  // of a mode that the table does not have
  source.leave_out("antialias", int64_t{0});
  source.leave_out("keep_aspect_ratio_policy", std::string("stretch"));
  if (source.attributes.has("antialias") || source.attributes.has("keep_aspect_ratio_policy"))
    return std::nullopt;
  const Shape& shape = source.type(0).shape;
  std::vector<int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = source.attributes.integers("axes", axes);
  source.attributes.erase("axes");
  if (!scales->empty()) {
    *scales = of_all_axes(*scales, axes, std::vector<double>(shape.size(), 1));
    if (source.attributes.text("coordinate_transformation_mode", "") == "align_corners" &&
        breaks_extents(source.type(0).shape, *scales))
      return std::nullopt;
    source.attributes.set("scales", *scales);
  } else {
    const auto sizes = source.constant_integers(3);
    if (!sizes) return std::nullopt;
    source.attributes.set("sizes", of_all_axes(*sizes, axes, shape));
  }
  return source.add("Resize", {source.inputs[0]}, source.attributes);
}

std::optional<Values> upsample(Source& source) {
  constexpr int kScalesAreInputSince = 9;
  if (source.opset >= kResizeSince) return std::nullopt;
  if (source.opset >= kScalesAreInputSince) return resize(source);
  const AttrValue* given = source.attributes.find("scales");
  const auto* numbers = given == nullptr ? nullptr : std::get_if<std::vector<double>>(given);
  if (numbers == nullptr) throw InputError("has no scales");
  std::vector<double> scales;
  for (const double number : *numbers)
    scales.push_back(static_cast<double>(static_cast<float>(number)));
  return older_resize(source, std::move(scales));
}

/// Opset 20 calls the modes what Resize calls them.
std::optional<Values> grid_sample(Source& source) {
  if (source.opset >= kRenamedGridModesSince) {
    const std::string mode = source.attributes.text("mode", "linear");
    if (mode != "linear" && mode != "nearest") return std::nullopt;
    source.attributes.set("mode", mode == "linear" ? std::string("bilinear") : mode);
  }
  return convert_as_is(source);
}

}  // namespace

Converter image_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {
      {"ConvTranspose", conv_transpose},
      {"Resize", resize},
      {"Upsample", upsample},
      {"GridSample", grid_sample}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
