#include "tools/python/learning/policy.h"

#include <algorithm>

#include "core/base/error.h"
#include "env/translated.h"

namespace reverie::python {
namespace {

/// Of so many moments, the latest, M's memory is kept: for other environments and for forks.
constexpr size_t kMemories = 1024;

Action renamed(Action action, const EnvSpec& from, const EnvSpec& to) {
  const auto found =
      std::ranges::find(to.actions, from.actions[static_cast<size_t>(action.primary)]);
  REVERIE_CHECK(found != to.actions.end());
  action.primary = static_cast<int>(found - to.actions.begin());
  return action;
}

/// What the policy sees: its own names, and the choices that have numbers.
Observation seen_by(const TrainedPolicy& policy, const NumberedEnvironment& environment) {
  const EnvSpec& real = environment.spec();
  require_names(policy.spec(), real);
  if (const std::string more = unknown_actions(policy.spec(), real); !more.empty())
    throw InputError("{}; make the environment with the settings that the policy was trained in",
                     more);
  Observation seen = translated(environment.environment().fork(), policy.spec())->observe();
  seen.mask = environment.numbers().numbered(std::move(seen.mask));
  return seen;
}

}  // namespace

LoadedPolicy::LoadedPolicy(const std::string& path, uint64_t seed)
    : trained_(load_trained_policy(path)), rng_(seed) {}

LoadedPolicy::Memory LoadedPolicy::remember(const NumberedEnvironment& environment,
                                            const Latents& latents, const LatentMask& mask) const {
  const NumberedEnvironment::Moment& now = environment.moment();
  Memory memory = {trained_.world->begin(latents), mask};
  if (const auto same = memories_.find(now.id); same != memories_.end())
    memory.state = same->second.state;
  else if (const auto before = memories_.find(now.before); before != memories_.end()) {
    memory.state = before->second.state;
    const Action last = renamed(now.last, environment.spec(), trained_.spec());
    trained_.world->advance(memory.state, before->second.mask, latent_actions({&last, 1}));
  }
  memory.state.latents = latents;
  return memory;
}

Action LoadedPolicy::act(const NumberedEnvironment& environment, bool greedy) {
  if (environment.start() < 0) throw InputError("the environment has to be reset first");
  torch::NoGradGuard no_grad;
  const Observation seen = seen_by(trained_, environment);
  const auto [latents, mask] = trained_.encoder->see({&seen, 1});
  Memory memory = remember(environment, latents, mask);
  const int horizon = environment.spec().horizon;
  const auto to_go = torch::full({1}, time_to_go(environment.moment().steps, horizon));
  const LatentActions actions =
      trained_.policy->act(observation_of(memory.state, mask, to_go), greedy, rng_).actions;
  if (memories_.size() >= kMemories) memories_.erase(memories_.begin());  // the earliest
  memories_[environment.moment().id] = std::move(memory);
  return renamed(actions_of(actions).front(), trained_.spec(), environment.spec());
}

}  // namespace reverie::python
