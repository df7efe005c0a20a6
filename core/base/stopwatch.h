#pragma once

#include <chrono>

namespace reverie {

/// Seconds since it was made, by a clock that nobody sets.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace reverie
