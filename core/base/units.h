#pragma once

#include <compare>
#include <cstdint>

namespace reverie {

/// Integer time, so that sums by difference equal sums from scratch.
struct Picoseconds {
  int64_t count = 0;

  double milliseconds() const { return static_cast<double>(count) * 1e-9; }
  double seconds() const { return static_cast<double>(count) * 1e-12; }
  static Picoseconds from_seconds(double seconds) {
    return {static_cast<int64_t>(seconds * 1e12 + 0.5)};
  }

  auto operator<=>(const Picoseconds&) const = default;
  Picoseconds& operator+=(Picoseconds other) {
    count += other.count;
    return *this;
  }
  Picoseconds& operator-=(Picoseconds other) {
    count -= other.count;
    return *this;
  }
  friend Picoseconds operator+(Picoseconds a, Picoseconds b) { return a += b; }
  friend Picoseconds operator-(Picoseconds a, Picoseconds b) { return a -= b; }
};

}  // namespace reverie
