#include "core/ir/value_range.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace reverie {
namespace {

/// Of a weight that is known by its value; empty for another.
std::vector<double> known_elements(const Weight& weight) {
  if (!weight.is_small()) return {};
  if (weight.is_fill()) return {weight.fill_value()};
  if (weight.type().elements() > Weight::kSmallWeight && weight.is_identity_kernel()) return {0, 1};
  return weight.materialize().to_doubles();
}

}  // namespace

ValueRange range_of(const RangeContext& node) {
  if (&node.op == &opaque_op()) return ValueRange::kUnknown;
  if (!node.floating) return ValueRange::kFinite;
  if (node.op.range == nullptr ||
      std::ranges::find(node.inputs, ValueRange::kUnknown) != node.inputs.end())
    return ValueRange::kUnknown;
  return node.op.range(node);
}

ValueRange range_of(double x) {
  if (!std::isfinite(x)) return ValueRange::kUnknown;
  return x > 0 ? ValueRange::kPositive : x == 0 ? ValueRange::kNonNegative : ValueRange::kFinite;
}

ValueRange range_of(const Weight& weight) {
  if (weight.varies()) {
    ValueRange range = ValueRange::kPositive;
    for (size_t sample = 0; sample < weight.samples(); ++sample)
      range = std::min(range, range_of(*weight.at(sample)));
    return range;
  }
  if (!is_floating(weight.type().dtype)) return ValueRange::kFinite;
  const std::vector<double> elements = known_elements(weight);
  if (elements.empty()) return ValueRange::kFinite;
  ValueRange range = ValueRange::kPositive;
  for (const double element : elements) range = std::min(range, range_of(element));
  return range;
}

}  // namespace reverie
