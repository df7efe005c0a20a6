#include "controller/validate/dream_check.h"

#include "env/translated.h"
#include "worldmodel/network/modules.h"

namespace reverie {
namespace {

/// The real start states in latent space.
LatentObservation start_observation(Encoder& encoder, WorldModel& world,
                                    std::span<const Environment* const> environments,
                                    LatentState& state) {
  std::vector<Observation> observations;
  for (const Environment* environment : environments)
    observations.push_back(environment->observe());
  const EncodedStates seen = encoder.see(observations);
  state = world.begin(seen.latents);
  return observation_of(state, seen.mask,
                        torch::ones({std::ssize(observations)}, state.latents.z.options()));
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
    const std::vector<Action> actions = actions_of(chosen);
    const WorldPrediction next = world.step(state, observation.mask, chosen, temperature, noise);
    const auto reward = next.reward.to(torch::kCPU), end = next.end.to(torch::kCPU);
    for (int64_t b = 0; b < size; ++b) {
      DreamtEpisode& episode = episodes[static_cast<size_t>(b)];
      if (episode.over) continue;
      const Action& action = actions[static_cast<size_t>(b)];
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

/// Not owned: for the time of a call.
template <class T>
std::shared_ptr<T> lent(T& x) {
  return {std::shared_ptr<void>(), &x};
}

/// From the start states of these seeds.
std::vector<DreamtEpisode> dream_in_grey_box(const Environment& known,
                                             std::span<const uint64_t> seeds, Encoder& encoder,
                                             WorldModel& world, Policy& policy, bool greedy,
                                             Rng& rng) {
  KnownStarts starts;
  const auto environment = translated(known.fork(), world.spec().env);
  for (const uint64_t seed : seeds) {
    environment->reset(seed);
    starts.push_back(environment->known());
  }
  GreyBoxEnvironment grey_box(std::move(starts), lent(encoder), lent(world),
                              static_cast<int>(seeds.size()));
  return dream_in(grey_box, policy, greedy, rng);
}

/// Takes the dreamt actions for real, leaving out those that do not exist.
void replay(Environment& environment, const DreamtEpisode& dreamt, DreamCheck& check) {
  int64_t first = -1;
  bool over = false;
  for (size_t step = 0; step < dreamt.actions.size(); ++step) {
    const Action& action = dreamt.actions[step];
    if (over || !environment.mask().allows(action)) {
      ++check.invalid;
      if (first < 0) first = static_cast<int64_t>(step);
      continue;
    }
    const StepResult result = environment.step(action);
    check.real_return += result.reward;
    over = result.terminated || result.truncated;
  }
  const auto length = static_cast<int64_t>(dreamt.actions.size());
  check.first_invalid += static_cast<double>(first < 0 ? length : first);
  check.actions += length;
  check.dream_return += dreamt.reward;
  ++check.episodes;
}

}  // namespace

std::vector<DreamtEpisode> dream_from(std::span<const Environment* const> starts, Encoder& encoder,
                                      WorldModel& world, Policy& policy, bool greedy,
                                      double temperature, Rng& rng) {
  torch::NoGradGuard no_grad;
  LatentState state;
  const LatentObservation start = start_observation(encoder, world, starts, state);
  return dream_episodes(world, policy, std::move(state), start, greedy, temperature, rng);
}

std::vector<DreamtEpisode> dream_in(GreyBoxEnvironment& grey_box, Policy& policy, bool greedy,
                                    Rng& rng) {
  const auto members = static_cast<size_t>(grey_box.member_rewards().size(0));
  std::vector<DreamtEpisode> episodes(static_cast<size_t>(grey_box.batch()));
  LatentObservation observation = grey_box.reset_in_turn();
  for (DreamtEpisode& episode : episodes) episode.by_member.resize(members);
  for (bool open = true; open;) {
    const LatentActions chosen = policy.act(observation, greedy, rng).actions;
    const std::vector<Action> actions = actions_of(chosen);
    const LatentStep step = grey_box.step(chosen);
    const auto reward = step.reward.to(torch::kCPU);
    const auto over = step.terminated.logical_or(step.truncated).to(torch::kCPU);
    open = false;
    for (size_t b = 0; b < episodes.size(); ++b) {
      DreamtEpisode& episode = episodes[b];
      if (episode.over) continue;
      const auto row = static_cast<int64_t>(b);
      episode.actions.push_back(actions[b]);
      episode.reward += reward[row].item<double>();
      for (size_t k = 0; k < members; ++k)
        episode.by_member[k] +=
            grey_box.member_rewards()[static_cast<int64_t>(k)][row].item<double>();
      episode.over = over[row].item<bool>();
      open |= !episode.over;
    }
    observation = grey_box.observe();
  }
  return episodes;
}

Metrics DreamCheck::metrics() const {
  return {{"invalid_action_rate", invalid_action_rate()},
          {"first_invalid_action", first_invalid},
          {"dream_return", dream_return},
          {"replayed_return", real_return},
          {"return_gap", gap()}};
}

DreamCheck check_dream(Encoder& encoder, WorldModel& world, Policy& policy,
                       const Environment& prototype, std::span<const uint64_t> seeds, bool greedy,
                       double temperature, Rng& rng, EnvCounters& counters,
                       const Environment* known) {
  std::vector<std::unique_ptr<Environment>> environments;
  std::vector<const Environment*> starts;
  for (const uint64_t seed : seeds) {
    starts.push_back(
        environments.emplace_back(translated(prototype.fork(), world.spec().env)).get());
    environments.back()->reset(seed);
  }
  const auto dreamt = known != nullptr
                          ? dream_in_grey_box(*known, seeds, encoder, world, policy, greedy, rng)
                          : dream_from(starts, encoder, world, policy, greedy, temperature, rng);
  DreamCheck check;
  for (size_t i = 0; i < dreamt.size(); ++i) {
    replay(*environments[i], dreamt[i], check);
    counters += environments[i]->counters();
  }
  const auto episodes = static_cast<double>(check.episodes);
  check.first_invalid /= episodes;
  check.dream_return /= episodes;
  check.real_return /= episodes;
  return check;
}

}  // namespace reverie
