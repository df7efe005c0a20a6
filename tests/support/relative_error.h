#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/ir/tensor.h"

namespace reverie::testing {

/// max |a - b| / max |reference|; NaN when a is not finite where the reference is.
inline double relative_error(const Tensor& result, const Tensor& reference) {
  const std::vector<double> a = result.to_doubles();
  const std::vector<double> b = reference.to_doubles();
  double error = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) && std::isfinite(b[i])) return NAN;
    error = std::max(error, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return scale > 0 ? error / scale : error;
}

}  // namespace reverie::testing
