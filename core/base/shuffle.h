#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "core/base/random.h"

namespace reverie {

/// All orders equally likely (Knuth, TAOCP volume 2, 3.4.2, algorithm P). Unlike std::shuffle with
/// equal draws on every platform.
template <class T>
void shuffle(std::span<T> values, Rng& rng) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

}  // namespace reverie
