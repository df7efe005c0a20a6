#include "worldmodel/batch/joined_episodes.h"

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {

JoinedEpisodes::JoinedEpisodes(std::vector<std::shared_ptr<const EpisodeSource>> sources)
    : sources_(std::move(sources)) {
  REVERIE_CHECK(!sources_.empty());
  for (const auto& source : sources_) {
    EnvSpec other = source->spec();
    other.knows_dynamics = spec().knows_dynamics;  // says nothing of what is recorded
    if (!(other == spec()))
      throw InputError(
          "rollouts of '{}' and of '{}' do not fit together: their environments differ",
          spec().name, source->spec().name);
    const std::vector<int32_t> number = add_states(*source);
    for (size_t i = 0; i < source->episodes().size(); ++i) {
      Episode episode = source->episodes()[i];
      for (Transition& step : episode.steps) step.state = number[static_cast<size_t>(step.state)];
      episode.final_state = number[static_cast<size_t>(episode.final_state)];
      episodes_.push_back(std::move(episode));
      splits_.push_back(source->split(static_cast<int>(i)));
    }
  }
}

std::vector<int32_t> JoinedEpisodes::add_states(const EpisodeSource& source) {
  std::vector<int32_t> number;
  for (int i = 0; i < source.state_count(); ++i) {
    const auto [found, is_new] =
        index_of_.try_emplace(source.state_key(i), static_cast<int32_t>(places_.size()));
    if (is_new) places_.push_back({&source, i});
    number.push_back(found->second);
  }
  return number;
}

uint64_t JoinedEpisodes::state_key(int index) const {
  return place(index).source->state_key(place(index).state);
}

Observation JoinedEpisodes::state(int index) const {
  return place(index).source->state(place(index).state);
}

const ActionMask& JoinedEpisodes::mask(int index) const {
  return place(index).source->mask(place(index).state);
}

int JoinedEpisodes::node_count(int index) const {
  return place(index).source->node_count(place(index).state);
}

uint64_t JoinedEpisodes::fingerprint() const {
  uint64_t hash = sources_.front()->fingerprint();
  for (size_t i = 1; i < sources_.size(); ++i)
    hash = hash_combine(hash, sources_[i]->fingerprint());
  return hash;
}

}  // namespace reverie
