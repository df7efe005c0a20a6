#include <algorithm>

#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

using dnnl::algorithm;

/// Whether the result's extents are multiples of the input's.
bool grows_by_whole_factors(const Shape& x, const Shape& y) {
  for (size_t i = 0; i < x.size(); ++i)
    if (y[i] % x[i] != 0) return false;
  return true;
}

/// Whether an element lies where the ratio of the extents says, (i + 0.5) * in / out - 0.5.
bool has_half_pixels(const Attributes& attributes, const Shape& y) {
  const std::string& mode = attributes.text("coordinate_transformation_mode");
  if (mode == "half_pixel") return true;
  if (mode != "pytorch_half_pixel") return false;
  return std::find(y.begin() + 2, y.end(), 1) == y.end();
}

/// Whether the scales are the ratios of the extents.
bool has_exact_scales(const Attributes& attributes, const Shape& x, const Shape& y) {
  const AttrValue* scales = attributes.find("scales");
  for (size_t i = 0; scales != nullptr && i < x.size(); ++i)
    if (std::get<std::vector<double>>(*scales)[i] * static_cast<double>(x[i]) !=
        static_cast<double>(y[i]))
      return false;
  return true;
}

/// oneDNN resizes images by half pixels, and takes the nearest element, which is the one that
/// `floor` takes where extents grow by whole factors.
std::optional<algorithm> algorithm_of(const Attributes& attributes, const Shape& x,
                                      const Shape& y) {
  if (x.size() < 3 || x.size() > 5 || x[0] != y[0] || x[1] != y[1]) return std::nullopt;
  if (!has_exact_scales(attributes, x, y)) return std::nullopt;
  const bool half_pixels = has_half_pixels(attributes, y);
  if (attributes.text("mode") == "linear")
    return half_pixels ? std::optional(algorithm::resampling_linear) : std::nullopt;
  if (attributes.text("mode") != "nearest" || !grows_by_whole_factors(x, y)) return std::nullopt;
  const bool rounds = attributes.text("nearest_mode").starts_with("round");
  const bool floors = attributes.text("coordinate_transformation_mode") == "asymmetric" &&
                      attributes.text("nearest_mode") == "floor";
  return (half_pixels && rounds) || floors ? std::optional(algorithm::resampling_nearest)
                                           : std::nullopt;
}

}  // namespace

bool lower_resize(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId input = builder.graph().inputs(node)[0];
  const ValueId output = builder.graph().output(node);
  const auto kind = algorithm_of(builder.graph().attributes(node), builder.type(input).shape,
                                 builder.type(output).shape);
  if (!kind) return false;
  const Slot source = builder.at(input);
  const dnnl::resampling_forward::primitive_desc chosen(
      {dnnl::prop_kind::forward_inference, *kind, source.desc, any_layout(builder.dims(output))},
      engine());
  const Slot result = builder.fresh(chosen.dst_desc());
  builder.add(dnnl::resampling_forward(chosen), {{DNNL_ARG_SRC, source}}, {{DNNL_ARG_DST, result}});
  builder.define(output, result);
  return true;
}

}  // namespace reverie::cpu
