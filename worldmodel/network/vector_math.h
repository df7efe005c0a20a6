#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace reverie {

// Free of branches and calls, so that loops over them are vectorised.

/// exp(x) to two units in the last place: 2^n exp(r) with |r| <= log(2) / 2, exp(r) by the
/// polynomial of Cephes.
inline float exp_of(float x) {
  constexpr float kRound = 12582912;  // 1.5 * 2^23: adding it rounds, and leaves n in the last bits
  const float within = std::min(std::max(x, -87.0f), 88.0f);
  const float shifted = within * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = within - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) +
                              (std::bit_cast<uint32_t>(shifted) << 23));
}

inline float sigmoid_of(float x) { return 1 / (1 + exp_of(-x)); }
/// To 2.4e-7, not relative to small values.
inline float tanh_of(float x) { return 1 - 2 / (1 + exp_of(2 * x)); }

}  // namespace reverie
