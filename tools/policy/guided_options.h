#pragma once

#include <cstdint>

#include "core/base/config.h"

namespace reverie {

/// How a trained policy looks for a graph.
enum class PolicySearchKind : uint8_t { kEpisodes, kBeam, kMcts };

inline EnumNames<PolicySearchKind> enum_names(PolicySearchKind) {
  return {{PolicySearchKind::kEpisodes, "episodes"},
          {PolicySearchKind::kBeam, "beam"},
          {PolicySearchKind::kMcts, "mcts"}};
}

/// Of a policy's episodes and of the searches that it guides; see tools/policy/policy_search.h.
struct GuidedSearchOptions {
  PolicySearchKind search = PolicySearchKind::kEpisodes;
  double horizons = 1;
  double gain_weight = 1;
  double exploration = 1.25;
  int64_t actions = 64;
  int64_t batch = 8;
  int64_t states = 1000;

  template <class V>
  void fields(V& v) {
    v.field("search", search, "Plays episodes, or guides a beam or a Monte-Carlo tree search");
    v.field("horizons", horizons,
            "Episodes and ways end after so many horizons of the graph (env.horizon of the policy's training; where "
            "that is 0, it follows from greedy search here); 2 where the graph is much larger than those of "
            "training, so that one may end before the policy is done",
            between(1, 100));
    v.field("gain_weight", gain_weight,
            "What a percent gained is worth beside the log-probability of a way (beam)", at_least(0));
    v.field("exploration", exploration, "Factor of PUCT's exploration term (mcts)", at_least(0));
    v.field("actions", actions, "The likeliest actions of a state are tried, so many (beam, mcts)",
            at_least(1));
    v.field("batch", batch, "States encoded at once, at most (beam, mcts)", at_least(1));
    v.field("states", states,
            "States in memory; those left longest alone are not tried further (mcts)", at_least(1));
  }
};

}  // namespace reverie
