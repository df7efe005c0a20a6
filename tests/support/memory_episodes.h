#pragma once

#include "core/base/random.h"
#include "env/environment.h"
#include "tests/support/random_actions.h"
#include "worldmodel/batch/episode_source.h"

namespace reverie::testing {

/// One episode of a random agent, its states added to `data`.
inline void add_random_episode(MemoryEpisodes& data, Environment& environment, uint64_t seed,
                               Split split) {
  Rng rng(seed);
  Episode episode;
  episode.seed = seed;
  episode.agent = "random";
  environment.reset(seed);
  Observation observation = environment.observe();
  bool over = false;
  while (!over) {
    Transition step;
    step.action = random_action(observation.mask, rng, 0.02);
    step.state = data.add_state(std::move(observation));
    const StepResult result = environment.step(step.action);
    step.reward = static_cast<float>(result.reward);
    step.terminated = result.terminated;
    step.truncated = result.truncated;
    over = result.terminated || result.truncated;
    episode.steps.push_back(step);
    observation = environment.observe();
  }
  episode.final_state = data.add_state(std::move(observation));
  data.add_episode(std::move(episode), split);
}

/// Random episodes; of every ten, one is for validation and one for testing.
inline MemoryEpisodes random_episodes(Environment& environment, int count, uint64_t seed) {
  MemoryEpisodes data(environment.spec());
  for (int i = 0; i < count; ++i) {
    const Split split = i % 10 == 8   ? Split::kValidation
                        : i % 10 == 9 ? Split::kTest
                                      : Split::kTrain;
    add_random_episode(data, environment, seed + static_cast<uint64_t>(i), split);
  }
  return data;
}

}  // namespace reverie::testing
