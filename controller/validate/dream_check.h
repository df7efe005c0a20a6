#pragma once

#include <span>
#include <vector>

#include "controller/policy/policy.h"
#include "core/base/metrics.h"
#include "env/environment.h"
#include "worldmodel/encoder/encoder.h"
#include "worldmodel/latent/grey_box.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

/// Actions chosen in a dream, NO-OP included.
struct DreamtEpisode {
  std::vector<Action> actions;
  double reward = 0;
  bool over = false;
  std::vector<double> by_member;  ///< the reward as each member of M's ensemble says, in a grey box
};

/// Dreams one episode from where each environment, with the names that M knows, begins one: M
/// alone, at `temperature`, until it believes in the end, NO-OP or the horizon.
std::vector<DreamtEpisode> dream_from(std::span<const Environment* const> starts, Encoder& encoder,
                                      WorldModel& world, Policy& policy, bool greedy,
                                      double temperature, Rng& rng);

/// The same in a grey box (worldmodel/latent/grey_box.h), from each of its starts.
std::vector<DreamtEpisode> dream_in(GreyBoxEnvironment& grey_box, Policy& policy, bool greedy,
                                    Rng& rng);

/// How far a policy's dreams can be lived: action sequences chosen in the dream, replayed for real.
struct DreamCheck {
  int64_t episodes = 0;
  int64_t actions = 0;  ///< taken in the dream, NO-OP included
  int64_t invalid = 0;  ///< of these, actions that the real state does not have
  double first_invalid =
      0;  ///< mean step of an episode's first such action, its length if it has none
  double dream_return = 0;  ///< mean, as dreamt
  double real_return = 0;   ///< mean of the same sequences for real, invalid actions left out

  double invalid_action_rate() const {
    return actions > 0 ? static_cast<double>(invalid) / static_cast<double>(actions) : 0;
  }
  double gap() const { return dream_return - real_return; }
  /// invalid_action_rate, first_invalid_action, dream_return, replayed_return, return_gap.
  Metrics metrics() const;
};

/// Dreams one episode from the real start state of each seed, and replays it on forks of
/// `prototype`. Where `known` is given, dreams are those of its known dynamics. `counters` gains
/// the real work.
DreamCheck check_dream(Encoder& encoder, WorldModel& world, Policy& policy,
                       const Environment& prototype, std::span<const uint64_t> seeds, bool greedy,
                       double temperature, Rng& rng, EnvCounters& counters,
                       const Environment* known = nullptr);

}  // namespace reverie
