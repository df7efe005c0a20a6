#pragma once

#include <algorithm>
#include <bit>
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
  bool operator==(const Half16&) const = default;

 private:
  static constexpr int kDropped = 52 - kMantissa;  // fraction bits of a double beyond ours

  /// code * 2^-dropped to the nearest integer, ties to even.
  static uint64_t round_shift(uint64_t code, int dropped) {
    const uint64_t half = uint64_t{1} << (dropped - 1), rest = code & (2 * half - 1);
    const uint64_t whole = code >> dropped;
    return whole + (rest > half || (rest == half && (whole & 1)));
  }

  static uint16_t encode(double x) {
    const auto bits = std::bit_cast<uint64_t>(x);
    const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
    const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
    constexpr uint64_t kInfinity = uint64_t{kTop} << kMantissa;
    if (magnitude > uint64_t{0x7ff} << 52) return kInfinity | 1u << (kMantissa - 1);
    const int exponent = static_cast<int>(magnitude >> 52) - 1023 + kBias;
    uint64_t code;  // a carry into the next exponent encodes itself
    if (exponent >= 1) {
      code = round_shift(magnitude - (uint64_t{1023 - kBias} << 52), kDropped);
    } else {
      const uint64_t fraction = (magnitude & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
      const int dropped = kDropped + 1 - exponent;
      code = dropped < 64 ? round_shift(fraction, dropped) : 0;
    }
    return static_cast<uint16_t>(sign | std::min(code, kInfinity));
  }

  double decode() const {
    const int exponent = bits >> kMantissa & kTop;
    const uint64_t mantissa = bits & ((1 << kMantissa) - 1);
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == kTop) return mantissa == 0 ? sign * INFINITY : NAN;
    const double unit = power_of_two(1 - kBias - kMantissa);  // the least number above 0
    if (exponent == 0) return sign * static_cast<double>(mantissa) * unit;
    return sign * std::bit_cast<double>(static_cast<uint64_t>(exponent - kBias + 1023) << 52 |
                                        mantissa << kDropped);
  }

  static constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  }
};

using Float16 = Half16<10>;
using BFloat16 = Half16<7>;

}  // namespace reverie
