#pragma once

#include "env/adapt/network.h"

namespace reverie::testing {

/// Two stages, a residual addition over a pool and a linear output.
inline Network residual_network() {
  return parse_network(R"(
image: [3, 8, 8]
blocks:
  - {conv: 4, name: stem}
  - {max_pool: 2, name: pool}
  - {conv: 4, name: inner}
  - {conv: 4, name: outer, add: pool}
  - {conv: 6, name: tail, kernel: 1}
  - {global_pool: true, name: mean}
  - {linear: 5, name: output}
)",
                       "residual");
}

/// A network that is small enough to try every sequence of changes.
inline Network small_network() {
  return parse_network(R"(
image: [1, 6, 6]
blocks:
  - {conv: 2, name: first}
  - {average_pool: 2, name: pool}
  - {conv: 3, name: second}
  - {global_pool: true, name: mean}
  - {linear: 4, name: output}
)",
                       "small");
}

}  // namespace reverie::testing
