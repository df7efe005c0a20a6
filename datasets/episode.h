#pragma once

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
  std::vector<double> objective;  ///< of the T + 1 states
  std::vector<uint8_t> feasible;  ///< 0 or 1 for each; empty where all are

  bool feasible_at(size_t state) const { return feasible.empty() || feasible[state] != 0; }
  /// How much better the best feasible state is than the first, as EnvSpec::improvement_percent.
  double improvement_percent(const EnvSpec& spec) const;
  bool operator==(const Episode&) const = default;
};

enum class Split : uint8_t { kTrain, kValidation, kTest };

}  // namespace reverie
