#pragma once

#include <cstdint>

#include "core/base/config.h"
#include "core/search/algorithms.h"

namespace reverie {

/// How a trained policy looks for a graph.
enum class PolicySearchKind : uint8_t { kEpisodes, kBeam };

inline EnumNames<PolicySearchKind> enum_names(PolicySearchKind) {
  return {{PolicySearchKind::kEpisodes, "episodes"}, {PolicySearchKind::kBeam, "beam"}};
}

/// How a policy guides a beam; see run_guided_beam.
struct GuideOptions : search::Beam {
  double gain_weight = 1;
  int64_t actions = 64;
  int64_t batch = 8;

  template <class V>
  void fields(V& v) {
    Beam::fields(v);
    v.field("gain_weight", gain_weight,
            "What a percent gained is worth beside the log-probability of a way (beam)",
            at_least(0));
    v.field("actions", actions, "The likeliest actions of a state are tried, so many (beam)",
            at_least(1));
    v.field("batch", batch, "States encoded at once, at most (beam)", at_least(1));
  }
};

/// Of a policy's episodes and of the beam that it guides.
struct GuidedSearchOptions : GuideOptions {
  PolicySearchKind search = PolicySearchKind::kEpisodes;
  double horizons = 1;

  template <class V>
  void fields(V& v) {
    v.field("search", search, "Plays episodes, or guides a beam search");
    v.field("horizons", horizons,
            "Episodes and ways end after so many horizons of the graph (env.horizon of the "
            "policy's training; where "
            "that is 0, it follows from greedy search here); 2 where the graph is much larger than "
            "those of "
            "training, so that one may end before the policy is done",
            between(1, 100));
    GuideOptions::fields(v);
  }
};

}  // namespace reverie
