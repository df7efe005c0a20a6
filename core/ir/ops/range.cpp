#include "core/ir/ops/range.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/ir/value_range.h"

namespace reverie::ops::range {
namespace {

ValueRange least(ValueRange a, ValueRange b) { return std::min(a, b); }
ValueRange greatest(ValueRange a, ValueRange b) { return std::max(a, b); }

/// Of a small weight that is known by its value; empty for another.
std::vector<double> few_elements(const Weight* weight) {
  if (weight == nullptr || !weight->is_small() || weight->type().elements() > Weight::kSmallWeight)
    return {};
  return weight->materialize().to_doubles();
}

}  // namespace

ValueRange finite(const RangeContext&) { return ValueRange::kFinite; }
ValueRange non_negative(const RangeContext&) { return ValueRange::kNonNegative; }
ValueRange as_first(const RangeContext& node) { return node.inputs[0]; }
ValueRange as_all(const RangeContext& node) { return *std::ranges::min_element(node.inputs); }

ValueRange sum(const RangeContext& node) {
  const ValueRange low = least(node.inputs[0], node.inputs[1]);
  return low == ValueRange::kNonNegative ? greatest(node.inputs[0], node.inputs[1]) : low;
}

ValueRange product(const RangeContext& node) {
  if (node.square) return ValueRange::kNonNegative;
  return least(least(node.inputs[0], node.inputs[1]), ValueRange::kNonNegative);
}

ValueRange maximum(const RangeContext& node) { return greatest(node.inputs[0], node.inputs[1]); }
ValueRange choice(const RangeContext& node) { return least(node.inputs[1], node.inputs[2]); }

ValueRange quotient(const RangeContext& node) {
  if (node.inputs[1] == ValueRange::kPositive)
    return least(node.inputs[0], ValueRange::kNonNegative);
  const std::vector<double> divisors = few_elements(node.second);
  const bool safe =
      !divisors.empty() && std::ranges::all_of(divisors, [](double x) { return x != 0; });
  return safe ? ValueRange::kFinite : ValueRange::kUnknown;
}

ValueRange reciprocal(const RangeContext& node) {
  return node.inputs[0] == ValueRange::kPositive ? ValueRange::kNonNegative : ValueRange::kUnknown;
}

ValueRange power(const RangeContext& node) {
  const std::vector<double> exponents = few_elements(node.second);
  const auto all = [&](auto holds) {
    return !exponents.empty() && std::ranges::all_of(exponents, holds);
  };
  if (all([](double e) { return e >= 0 && std::fmod(e, 2) == 0; })) return ValueRange::kNonNegative;
  if (all([](double e) { return e >= 0 && std::fmod(e, 1) == 0; })) return ValueRange::kFinite;
  const bool root =
      all([](double e) { return e >= 0; }) && node.inputs[0] >= ValueRange::kNonNegative;
  return root ? ValueRange::kNonNegative : ValueRange::kUnknown;
}

ValueRange root(const RangeContext& node) {
  return node.inputs[0] >= ValueRange::kNonNegative ? node.inputs[0] : ValueRange::kUnknown;
}

ValueRange logarithm(const RangeContext& node) {
  return node.inputs[0] == ValueRange::kPositive ? ValueRange::kFinite : ValueRange::kUnknown;
}

ValueRange clip(const RangeContext& node) {
  ValueRange range = node.inputs[0];
  if (node.attributes.has("min")) range = greatest(range, range_of(node.attributes.number("min")));
  if (node.attributes.has("max"))
    range = least(range, greatest(range_of(node.attributes.number("max")), ValueRange::kFinite));
  return range;
}

ValueRange pad(const RangeContext& node) {
  if (node.attributes.text("mode") != "constant") return node.inputs[0];
  return least(node.inputs[0], range_of(node.attributes.number("value")));
}

/// A window in the padding alone, whose elements count as -infinity, is dilated or smaller than
/// that.
ValueRange max_pool(const RangeContext& node) {
  const auto& kernel = node.attributes.integers("kernel_shape");
  const auto& pads = node.attributes.integers("pads");
  bool sees_data = std::ranges::all_of(node.attributes.integers("dilations"),
                                       [](int64_t dilation) { return dilation == 1; });
  for (size_t i = 0; i < pads.size(); ++i)
    sees_data = sees_data && pads[i] < kernel[i % kernel.size()];
  return sees_data ? node.inputs[0] : ValueRange::kUnknown;
}

ValueRange normalized(const RangeContext& node) {
  return node.attributes.number("epsilon") > 0 ? ValueRange::kFinite : ValueRange::kUnknown;
}

}  // namespace reverie::ops::range
