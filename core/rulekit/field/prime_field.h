#pragma once

#include <cmath>
#include <cstdint>

/// Arithmetic modulo the prime 2^61 - 1, in which polynomial operators are exact. Elements are
/// numbers below the prime.
namespace reverie::field {

inline constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

__extension__ using Wide = unsigned __int128;

/// Less than 2^68 for any x, equal to it modulo the prime.
constexpr Wide folded_once(Wide x) { return (x & kPrime) + (x >> 61); }

constexpr uint64_t reduce(Wide x) {
  const Wide once = folded_once(x);
  const uint64_t twice = static_cast<uint64_t>(once & kPrime) + static_cast<uint64_t>(once >> 61);
  return twice >= kPrime ? twice - kPrime : twice;
}

constexpr uint64_t add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}
constexpr uint64_t subtract(uint64_t a, uint64_t b) { return a >= b ? a - b : a + kPrime - b; }
constexpr uint64_t negate(uint64_t a) { return a == 0 ? 0 : kPrime - a; }
constexpr uint64_t multiply(uint64_t a, uint64_t b) { return reduce(Wide{a} * b); }

/// A sum of products of elements, reduced when it is asked for.
class ProductSum {
 public:
  constexpr void add(uint64_t a, uint64_t b) {
    sum_ += Wide{a} * b;
    if ((sum_ >> 127) != 0) sum_ = folded_once(sum_);  // a product is less than 2^122
  }
  constexpr uint64_t value() const { return reduce(sum_); }

 private:
  Wide sum_ = 0;
};

constexpr uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base = multiply(base, base))
    if ((exponent & 1) != 0) result = multiply(result, base);
  return result;
}
/// 0 for 0.
constexpr uint64_t inverse(uint64_t a) { return power(a, kPrime - 2); }

constexpr uint64_t of_integer(int64_t x) {
  const auto size = reduce(x < 0 ? Wide{~static_cast<uint64_t>(x)} + 1 : Wide(x));
  return x < 0 ? negate(size) : size;
}

/// A finite number as the quotient m / 2^k that it is.
inline uint64_t of_number(double x) {
  int exponent = 0;
  constexpr int kDigits = 53;
  const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(x, &exponent), kDigits));
  exponent -= kDigits;
  // 2^61 is 1 here, so that powers of two, also negative ones, repeat after 61.
  const int turn = ((exponent % 61) + 61) % 61;
  return multiply(of_integer(digits), uint64_t{1} << turn);
}

}  // namespace reverie::field
