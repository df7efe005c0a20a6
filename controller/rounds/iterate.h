#pragma once

#include <functional>
#include <memory>
#include <string>

#include "controller/rounds/dream_step.h"
#include "datasets/collect.h"

namespace reverie {

/// Rounds of collect, fit and dream, as world models are trained where one policy does not see all
/// (Ha and Schmidhuber 2018, section 5): the policy of a round collects what the next one's M is
/// fitted to as well.
struct IterateConfig {
  int64_t rounds = 1;
  int64_t episodes = 25;
  int64_t epochs = 3;

  template <class V>
  void fields(V& v) {
    v.field("rounds", rounds, "Rounds of collect, fit and dream; the first has data and M already",
            at_least(1));
    v.field("episodes", episodes, "Episodes that the policy collects before each further round",
            at_least(1));
    v.field("epochs", epochs, "Most epochs of M's fit in each further round", at_least(1));
  }
};

/// Episodes that an agent played for real, kept in a directory.
struct CollectedRound {
  std::shared_ptr<const EpisodeSource> episodes;
  EnvCounters counters;
};

/// Collects `episodes` episodes into a directory, on top of what it holds already. Graphs that were
/// held out for testing must stay so.
using CollectRound = std::function<CollectedRound(const CollectAgent& agent, int64_t episodes,
                                                  const std::string& directory)>;

/// `config.rounds` rounds. One round is run_dream_step. Otherwise round r works in `round-r` below
/// run.directory: from the second on C collects there (V stays), M goes on from the last M with all
/// data, and C goes on in the new dream: as it was at the end of the round before, or where that
/// end is below the best so far (ValidationScore::above), as it was then. policy.pt is that of the
/// round whose validation was best, and the result is that round's, with the real work, the time
/// and the updates of all, from the first of which its best update counts; episodes collected count
/// as training. metrics.jsonl holds the rows of all rounds, counted on. `run.resume` goes on in the
/// round that was interrupted.
TrainingResult run_iterated(std::shared_ptr<const EpisodeSource> data, const IterateConfig& config,
                            const DreamStepConfig& step, const DreamStepRun& run,
                            const CollectRound& collect);

}  // namespace reverie
