#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "env/environment.h"

namespace reverie {

/// One step of an episode: in state `state` the action was taken; it gave reward, end and the next
/// step's state.
struct Transition {
  int32_t state = 0;  ///< index into the states of the shard or data set
  Action action;
  float reward = 0;
  bool terminated = false;
  bool truncated = false;
  bool operator==(const Transition&) const = default;
};

/// A ragged record of T transitions and T + 1 states. Reward and end at index t follow from the
/// action at index t; the last state is `final_state`.
struct Episode {
  uint64_t seed = 0;
  int32_t start_graph = 0;  ///< index of the start state in the environment
  std::string agent;        ///< "random", "mixed:0.15", "ppo"
  std::vector<Transition> steps;
  int32_t final_state = 0;
  std::vector<double> cost_ms;  ///< T + 1 entries
  /// How far the least cost is below the first; 0 where that is 0.
  double improvement_percent() const {
    const double first = cost_ms.front(), least = *std::min_element(cost_ms.begin(), cost_ms.end());
    return first > 0 ? 100.0 * (first - least) / first : 0.0;
  }
  bool operator==(const Episode&) const = default;
};

enum class Split : uint8_t { kTrain, kValidation, kTest };

}  // namespace reverie
