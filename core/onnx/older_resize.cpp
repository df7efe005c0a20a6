#include "core/onnx/older_resize.h"

#include <algorithm>
#include <cmath>

namespace reverie::proto {

bool has_one_reading(std::string_view mode, std::span<const double> scales) {
  if (mode == "linear") return true;
  return mode == "nearest" && std::ranges::all_of(scales, [](double scale) {
           return scale >= 1 || 1 / scale == std::floor(1 / scale);
         });
}

bool is_older_resize(const Attributes& attributes) {
  const AttrValue* scales = attributes.find("scales");
  if (scales == nullptr) return false;
  const std::string& mode = attributes.text("mode");
  return has_one_reading(mode, std::get<std::vector<double>>(*scales)) &&
         attributes.text("coordinate_transformation_mode") == "asymmetric" &&
         (mode != "nearest" || attributes.text("nearest_mode") == "floor");
}

Attributes with_scales(Attributes attributes, const Shape& input) {
  if (!attributes.has("sizes")) return attributes;
  const std::vector<int64_t>& sizes = attributes.integers("sizes");
  std::vector<double> scales;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto extent = static_cast<float>(input[i]);
    const float scale = static_cast<float>(sizes[i]) / extent;
    if (input[i] == 0 || sizes[i] == 0 || extent * scale != static_cast<float>(sizes[i]))
      return attributes;
    scales.push_back(static_cast<double>(scale));
  }
  attributes.erase("sizes");
  attributes.set("scales", std::move(scales));
  return attributes;
}

}  // namespace reverie::proto
