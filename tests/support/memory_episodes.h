#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "env/environment.h"
#include "tests/support/random_actions.h"
#include "worldmodel/batch/episode_source.h"

namespace reverie {

/// Episodes held in memory; equal states (by key) are stored once.
class MemoryEpisodes : public EpisodeSource {
 public:
  explicit MemoryEpisodes(EnvSpec spec) : spec_(std::move(spec)) {}

  /// Index of the state, new or known.
  int32_t add_state(Observation state) {
    const auto [found, is_new] = index_of_.try_emplace(state.state_key, states_.size());
    if (is_new) states_.push_back(std::move(state));
    return static_cast<int32_t>(found->second);
  }
  void add_episode(Episode episode, Split split) {
    episodes_.push_back(std::move(episode));
    splits_.push_back(split);
  }

  const EnvSpec& spec() const override { return spec_; }
  int state_count() const override { return static_cast<int>(states_.size()); }
  uint64_t state_key(int index) const override { return states_.at(index).state_key; }
  Observation state(int index) const override { return states_.at(index); }
  const ActionMask& mask(int index) const override { return states_.at(index).mask; }
  int node_count(int index) const override { return states_.at(index).graph.node_count(); }
  const std::vector<Episode>& episodes() const override { return episodes_; }
  Split split(int episode) const override { return splits_.at(episode); }
  uint64_t fingerprint() const override {
    uint64_t hash = hash_combine(hash_string(spec_.name), episodes_.size());
    for (const Episode& episode : episodes_) {
      hash = hash_combine(hash, episode.seed);
      for (const Transition& step : episode.steps)
        hash = hash_combine(hash_combine(hash, states_[step.state].state_key),
                            static_cast<uint64_t>(step.action.primary) << 48 ^
                                static_cast<uint64_t>(step.action.entity) << 16 ^
                                static_cast<uint64_t>(step.action.index));
    }
    return hash;
  }

 private:
  EnvSpec spec_;
  std::vector<Observation> states_;
  std::unordered_map<uint64_t, size_t> index_of_;  // by state key
  std::vector<Episode> episodes_;
  std::vector<Split> splits_;
};

namespace testing {

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

}  // namespace testing
}  // namespace reverie
