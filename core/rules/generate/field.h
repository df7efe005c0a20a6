#pragma once

#include <cstdint>

namespace reverie::generate {

/// The prime field of 2^61 - 1 elements, in which polynomial operators are exact.
inline constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

__extension__ using Wide = unsigned __int128;

/// x modulo the prime but for a multiple that the caller may leave: the result is below 2^68.
constexpr Wide part_fold(Wide x) { return (x & kPrime) + (x >> 61); }

constexpr uint64_t fold(Wide x) {
  const Wide once = part_fold(x);
  const uint64_t twice = static_cast<uint64_t>(once & kPrime) + static_cast<uint64_t>(once >> 61);
  return twice >= kPrime ? twice - kPrime : twice;
}

constexpr uint64_t add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}
constexpr uint64_t subtract(uint64_t a, uint64_t b) { return a >= b ? a - b : a + kPrime - b; }
constexpr uint64_t multiply(uint64_t a, uint64_t b) { return fold(Wide{a} * b); }

constexpr uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base = multiply(base, base))
    if ((exponent & 1) != 0) result = multiply(result, base);
  return result;
}
constexpr uint64_t inverse(uint64_t a) { return power(a, kPrime - 2); }

}  // namespace reverie::generate
