#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "core/base/shuffle.h"

namespace reverie {

/// An order in which things are tried, and which of them whatever they cost.
struct ForcedOrder {
  std::vector<int> order;    ///< each number once
  std::vector<bool> forced;  ///< by number
};

/// 0 to count - 1 in random order, a random quarter of them forced.
inline ForcedOrder draw_forced_order(int count, Rng rng) {
  constexpr double kForcedShare = 0.25;
  ForcedOrder list{std::vector<int>(static_cast<size_t>(count)), {}};
  std::iota(list.order.begin(), list.order.end(), 0);
  shuffle(std::span(list.order), rng);
  for (int i = 0; i < count; ++i) list.forced.push_back(rng.uniform() < kForcedShare);
  return list;
}

}  // namespace reverie
