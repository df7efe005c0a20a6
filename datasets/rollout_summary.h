#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "datasets/rollouts.h"

namespace reverie {

struct Spread {
  double least = 0, mean = 0, most = 0;
};

/// Episodes of one kind: of an agent, of a start graph.
struct EpisodeGroup {
  int episodes = 0;
  int64_t steps = 0;
  double mean_return = 0;
  double mean_improvement_percent = 0;  ///< least cost of an episode against its first
  double best_improvement_percent = 0;
};

struct RolloutSummary {
  std::array<int, 3> splits{};  ///< episodes by Split
  int64_t steps = 0;
  int states = 0;
  int no_op_ends = 0;     ///< episodes ended by NO-OP,
  int finished_ends = 0;  ///< by another step,
  int horizon_ends = 0;   ///< by the horizon
  Spread length, reward,
      episode_return;  ///< over episodes, steps, episodes; 0 where there are none
  std::map<std::string, EpisodeGroup> agents;
  std::vector<EpisodeGroup> graphs;  ///< by start graph
  std::vector<int64_t> actions;      ///< how often each primary action was taken
};

/// Reads the records of the episodes, not the states.
RolloutSummary summarize(const Rollouts& rollouts);
/// For `reverie inspect`: what RolloutSummary says, and where the rollouts came from.
std::string describe(const RolloutInfo& info, const RolloutSummary& summary);

}  // namespace reverie
