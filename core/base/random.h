#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {

/// Small seeded generator (SplitMix64). It is passed, never global. Its state is one word, so a
/// checkpoint stores and restores it exactly; equal seeds give equal draws on every platform.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(mix64(seed)) {}

  /// An independent stream for `index` (an episode, a worker, a weight).
  Rng fork(uint64_t index) const { return Rng(hash_combine(state_, index)); }

  uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix64(state_);
  }

  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// Uniform in [0, n); n > 0.
  uint64_t below(uint64_t n) {
    REVERIE_CHECK(n > 0);
    return static_cast<uint64_t>((static_cast<unsigned __int128>(bits()) * n) >> 64);
  }

  /// Standard normal (Box-Muller, one value a call).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  uint64_t state() const { return state_; }
  void set_state(uint64_t state) { state_ = state; }

  // UniformRandomBitGenerator, for std::shuffle.
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() { return bits(); }

 private:
  uint64_t state_;
};

}  // namespace reverie
