#include "datasets/compact.h"

#include <cmath>

namespace reverie {

uint16_t half_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);   // not a number
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds beyond 65504
  if (magnitude < 0x38800000) {  // subnormal: a multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyintf(scaled)));
  }
  const uint32_t rebased = magnitude - ((127 - 15) << 23);
  const uint32_t half = rebased >> 13, rest = rebased & 0x1fff;
  const bool up = rest > 0x1000 || (rest == 0x1000 && (half & 1));
  return static_cast<uint16_t>(sign | (half + up));
}

float float_from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  const uint32_t wide = exponent == 31 ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

void CompactInts::widen(int width) {
  CompactInts wider;
  wider.width_ = width;
  wider.bytes_.reserve((size() + 1) * static_cast<size_t>(width));
  for (size_t i = 0; i < size(); ++i) {
    const uint32_t value = (*this)[i];
    const size_t end = wider.bytes_.size();
    wider.bytes_.resize(end + static_cast<size_t>(width));
    std::memcpy(wider.bytes_.data() + end, &value, static_cast<size_t>(width));
  }
  *this = std::move(wider);
}

}  // namespace reverie
