#include "core/ir/ops/window.h"

#include "core/base/error.h"

namespace reverie::ops {

int spatial_rank(const TensorType& x) {
  if (x.rank() < 3 || x.rank() > 5)
    throw InputError("needs batch, channels and one to three extents, not rank {}", x.rank());
  return x.rank() - 2;
}

void fill_in_window(Attributes& attributes, const TensorType& x, bool dilations) {
  const auto rank = static_cast<size_t>(spatial_rank(x));
  set_if_absent(attributes, "strides", std::vector<int64_t>(rank, 1));
  set_if_absent(attributes, "pads", std::vector<int64_t>(2 * rank, 0));
  if (dilations) set_if_absent(attributes, "dilations", std::vector<int64_t>(rank, 1));
}

Shape window_positions(const OpContext& node, std::span<const int64_t> kernel, bool ceil_mode) {
  const Shape& x = node.inputs[0].shape;
  const auto rank = static_cast<size_t>(spatial_rank(node.inputs[0]));
  require_integers(node.attributes, "strides", rank, 1);
  require_integers(node.attributes, "pads", 2 * rank, 0);
  const std::vector<int64_t>& strides = node.attributes.integers("strides");
  const std::vector<int64_t>& pads = node.attributes.integers("pads");
  const std::vector<int64_t> dilations =
      node.attributes.integers("dilations", std::vector<int64_t>(rank, 1));
  Shape positions(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = x[i + 2] + pads[i] + pads[i + rank];
    if (extent < 1 || kernel[i] - 1 > (extent - 1) / dilations[i])  // their product could overflow
      throw InputError("a window of {} (dilation {}) does not fit into the padded extent {}",
                       kernel[i], dilations[i], extent);
    const int64_t slack = extent - 1 - (kernel[i] - 1) * dilations[i];
    positions[i] = (slack + (ceil_mode ? strides[i] - 1 : 0)) / strides[i] + 1;
  }
  return positions;
}

Shape image_of(const TensorType& x, int64_t channels, const Shape& extents) {
  Shape result = {x.shape[0], channels};
  result.insert(result.end(), extents.begin(), extents.end());
  return result;
}

Shape convolution_shape(const OpContext& node, const Shape& filter) {
  const TensorType& x = node.inputs[0];
  const int rank = spatial_rank(x);
  if (static_cast<int>(filter.size()) != rank + 2)
    throw InputError("the filter {} should have rank {}", to_string(filter), rank + 2);
  require_integers(node.attributes, "dilations", static_cast<size_t>(rank), 1);
  const int64_t group = node.attributes.integer("group");
  if (group < 1 || filter[0] % group != 0)
    throw InputError("{} filters do not divide into {} groups", filter[0], group);
  if (filter[1] * group != x.shape[1])
    throw InputError("{} input channels, but {} groups of filters with {} channels", x.shape[1],
                     group, filter[1]);
  return image_of(x, filter[0], window_positions(node, std::span(filter).subspan(2), false));
}

}  // namespace reverie::ops
