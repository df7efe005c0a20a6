#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace reverie {

/// A 16-bit floating-point number (IEEE 754 binary16 with kMantissa = 10, bfloat16 with 7), for
/// conversion only. Rounds to nearest, ties to even; overflow gives infinity.
template <int kMantissa>
struct Half16 {
  uint16_t bits = 0;

  static constexpr int kBias = kMantissa == 10 ? 15 : 127;
  static constexpr int kTop = 2 * kBias + 1;  // the exponent field of infinity and NaN

  Half16() = default;
  template <typename T>
  explicit Half16(T value) : bits(encode(static_cast<double>(value))) {}

  template <typename T>
  explicit operator T() const {
    return static_cast<T>(decode());
  }

 private:
  static uint16_t encode(double x) {
    const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
    const auto infinity = static_cast<uint16_t>(kTop << kMantissa);
    if (std::isnan(x)) return infinity | 1u << (kMantissa - 1);
    x = std::fabs(x);
    if (std::isinf(x)) return sign | infinity;
    if (x == 0) return sign;
    const int exponent = std::max(std::ilogb(x), 1 - kBias);
    // In units of the last place; a carry into the next exponent encodes itself.
    const auto units = static_cast<int64_t>(std::nearbyint(std::ldexp(x, kMantissa - exponent)));
    const int64_t code = units + (static_cast<int64_t>(exponent + kBias - 1) << kMantissa);
    return sign | (code >= infinity ? infinity : static_cast<uint16_t>(code));
  }

  double decode() const {
    const int exponent = bits >> kMantissa & kTop;
    const int mantissa = bits & ((1 << kMantissa) - 1);
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == kTop) return mantissa == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - kBias - kMantissa);
    return sign * std::ldexp(mantissa + (1 << kMantissa), exponent - kBias - kMantissa);
  }
};

using Float16 = Half16<10>;
using BFloat16 = Half16<7>;

}  // namespace reverie
