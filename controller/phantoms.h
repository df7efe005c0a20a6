#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controller/policy.h"
#include "core/base/metrics.h"
#include "env/environment.h"
#include "worldmodel/encoder.h"
#include "worldmodel/world_model.h"

namespace reverie {

/// A primary action, and its secondary choice as it lies in the dreamt mask.
struct DreamtAction {
  int primary = 0;
  RegionChoice choice;
};

/// Actions chosen in a dream, NO-OP included.
struct DreamtEpisode {
  std::vector<DreamtAction> actions;
  double reward = 0;
  bool over = false;
};

/// Dreams one episode from where each environment begins one: M alone, at `temperature`, until it believes in the end,
/// NO-OP or the horizon.
std::vector<DreamtEpisode> dream_from(std::span<const Environment* const> starts, Encoder& encoder, WorldModel& world,
                                      Policy& policy, bool greedy, double temperature, Rng& rng);

/// A dreamt action for the real state of this mask; nullopt where it is a phantom: the region has no such choice. What
/// M believes of other regions does not matter. `regions`: EnvSpec::regions.
std::optional<Action> existing_action(const ActionMask& mask, const DreamtAction& dreamt, int regions);

/// How far a policy's dreams can be lived: action sequences chosen in the dream, replayed for real.
struct DreamCheck {
  int64_t episodes = 0;
  int64_t actions = 0;       ///< taken in the dream, NO-OP included
  int64_t phantoms = 0;      ///< of these, actions that did not exist in the real state
  double first_phantom = 0;  ///< mean step of an episode's first phantom, its length if it has none
  double dream_return = 0;   ///< mean, as dreamt
  double real_return = 0;    ///< mean of the same sequences for real, phantoms left out

  double phantom_share() const {
    return actions > 0 ? static_cast<double>(phantoms) / static_cast<double>(actions) : 0;
  }
  double gap() const { return dream_return - real_return; }
  /// phantom_share, first_phantom, dream_return, replayed_return, return_gap.
  Metrics metrics() const;
};

/// Dreams one episode from the real start state of each seed and replays it on forks of `prototype`. `counters`
/// gains the real work.
DreamCheck check_dream(Encoder& encoder, WorldModel& world, Policy& policy,
                       const Environment& prototype, std::span<const uint64_t> seeds, bool greedy,
                       double temperature, Rng& rng, EnvCounters& counters);

}  // namespace reverie
