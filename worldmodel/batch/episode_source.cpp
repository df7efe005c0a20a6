#include "worldmodel/batch/episode_source.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {

std::vector<int> EpisodeSource::episodes_in(Split wanted) const {
  std::vector<int> result;
  for (int i = 0; i < static_cast<int>(episodes().size()); ++i)
    if (split(i) == wanted) result.push_back(i);
  return result;
}

std::vector<int> EpisodeSource::states_in(Split wanted) const {
  std::vector<int> result;
  for (const int episode : episodes_in(wanted)) {
    for (const Transition& step : episodes()[episode].steps) result.push_back(step.state);
    result.push_back(episodes()[episode].final_state);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Split EpisodeSource::judging_split() const {
  return episodes_in(Split::kValidation).empty() ? Split::kTrain : Split::kValidation;
}

int32_t MemoryEpisodes::add_state(Observation state) {
  const auto [found, is_new] = index_of_.try_emplace(state.state_key, states_.size());
  if (is_new) states_.push_back(std::move(state));
  return static_cast<int32_t>(found->second);
}

void MemoryEpisodes::add_episode(Episode episode, Split split) {
  episodes_.push_back(std::move(episode));
  splits_.push_back(split);
}

uint64_t MemoryEpisodes::fingerprint() const {
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

}  // namespace reverie
