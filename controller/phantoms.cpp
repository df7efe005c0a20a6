#include "controller/phantoms.h"

#include "worldmodel/location.h"
#include "worldmodel/modules.h"

namespace reverie {
namespace {

/// The real start states in latent space.
LatentObservation start_observation(Encoder& encoder, WorldModel& world,
                                    std::span<const Environment* const> environments,
                                    LatentState& state) {
  std::vector<Observation> observations;
  for (const Environment* environment : environments) observations.push_back(environment->observe());
  const EncodedStates seen = encoder.see(observations, environments.front()->spec());
  state = world.begin(seen.latents);
  return observation_of(state, seen.mask, torch::ones({std::ssize(observations)}, state.latents.z.options()));
}

std::vector<DreamtEpisode> dream_episodes(WorldModel& world, Policy& policy, LatentState state,
                                          LatentObservation observation, bool greedy,
                                          double temperature, Rng& rng) {
  const int64_t size = observation.z.size(0);
  const int horizon = world.spec().env.horizon, no_op = world.spec().env.no_op();
  torch::Generator noise = make_generator(rng.bits());
  std::vector<DreamtEpisode> episodes(static_cast<size_t>(size));
  size_t open = episodes.size();
  for (int step = 0; step < horizon && open > 0; ++step) {
    const LatentActions chosen = policy.act(observation, greedy, rng).actions;
    const RegionActions place = locate(chosen, observation.mask);
    const WorldPrediction next = world.step(state, observation.mask, chosen, temperature, noise);
    const auto primary = chosen.primary.to(torch::kCPU), region = place.region.to(torch::kCPU),
               index = place.index.to(torch::kCPU);
    const auto reward = next.reward.to(torch::kCPU), end = next.end.to(torch::kCPU);
    for (int64_t b = 0; b < size; ++b) {
      DreamtEpisode& episode = episodes[static_cast<size_t>(b)];
      if (episode.over) continue;
      const DreamtAction action{primary[b].item<int>(), {region[b].item<int>(), index[b].item<int>()}};
      episode.actions.push_back(action);
      episode.over = action.primary == no_op || end[b].item<bool>();
      episode.reward += reward[b].item<double>();
      open -= episode.over;
    }
    state.latents = next.latents;
    const auto left = 1.0 - static_cast<double>(step + 1) / horizon;
    observation = observation_of(state, next.mask, torch::full_like(observation.to_go, left));
  }
  return episodes;
}

/// Takes the dreamt actions for real, leaving out those that do not exist.
void replay(Environment& environment, const DreamtEpisode& dreamt, DreamCheck& check) {
  const int regions = environment.spec().regions;
  int64_t first = -1;
  bool over = false;
  for (size_t step = 0; step < dreamt.actions.size(); ++step) {
    const auto action =
        over ? std::nullopt : existing_action(environment.mask(), dreamt.actions[step], regions);
    if (!action) {
      ++check.phantoms;
      if (first < 0) first = static_cast<int64_t>(step);
      continue;
    }
    const StepResult result = environment.step(*action);
    check.real_return += result.reward;
    over = result.terminated || result.truncated;
  }
  const auto length = static_cast<int64_t>(dreamt.actions.size());
  check.first_phantom += static_cast<double>(first < 0 ? length : first);
  check.actions += length;
  check.dream_return += dreamt.reward;
  ++check.episodes;
}

}  // namespace

std::vector<DreamtEpisode> dream_from(std::span<const Environment* const> starts, Encoder& encoder, WorldModel& world,
                                      Policy& policy, bool greedy, double temperature, Rng& rng) {
  torch::NoGradGuard no_grad;
  LatentState state;
  const LatentObservation start = start_observation(encoder, world, starts, state);
  return dream_episodes(world, policy, std::move(state), start, greedy, temperature, rng);
}

std::optional<Action> existing_action(const ActionMask& mask, const DreamtAction& dreamt, int regions) {
  const auto there = choices_by_region(mask, dreamt.primary, regions);
  if (dreamt.choice.index >= there[static_cast<size_t>(dreamt.choice.region)]) return std::nullopt;
  const int number = secondary_choice(mask, dreamt.primary, dreamt.choice, regions);
  return Action{dreamt.primary, secondary_choice(mask, dreamt.primary, number)};
}

Metrics DreamCheck::metrics() const {
  return {{"phantom_share", phantom_share()},
          {"first_phantom", first_phantom},
          {"dream_return", dream_return},
          {"replayed_return", real_return},
          {"return_gap", gap()}};
}

DreamCheck check_dream(Encoder& encoder, WorldModel& world, Policy& policy,
                       const Environment& prototype, std::span<const uint64_t> seeds, bool greedy,
                       double temperature, Rng& rng, EnvCounters& counters) {
  std::vector<std::unique_ptr<Environment>> environments;
  std::vector<const Environment*> starts;
  for (const uint64_t seed : seeds) {
    starts.push_back(environments.emplace_back(prototype.fork()).get());
    environments.back()->reset(seed);
  }
  const auto dreamt = dream_from(starts, encoder, world, policy, greedy, temperature, rng);
  DreamCheck check;
  for (size_t i = 0; i < dreamt.size(); ++i) {
    replay(*environments[i], dreamt[i], check);
    counters += environments[i]->counters();
  }
  const auto episodes = static_cast<double>(check.episodes);
  check.first_phantom /= episodes;
  check.dream_return /= episodes;
  check.real_return /= episodes;
  return check;
}

}  // namespace reverie
