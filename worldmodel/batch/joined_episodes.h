#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "worldmodel/batch/episode_source.h"

namespace reverie {

/// Several sources on one environment as one: their episodes one source after the other, each
/// distinct state (by key) once. Splits are those of the sources.
class JoinedEpisodes : public EpisodeSource {
 public:
  /// One source at least. InputError when they are of different environments.
  explicit JoinedEpisodes(std::vector<std::shared_ptr<const EpisodeSource>> sources);

  const EnvSpec& spec() const override { return sources_.front()->spec(); }
  int state_count() const override { return static_cast<int>(places_.size()); }
  uint64_t state_key(int index) const override;
  Observation state(int index) const override;
  const ActionMask& mask(int index) const override;
  int node_count(int index) const override;
  const std::vector<Episode>& episodes() const override { return episodes_; }
  Split split(int episode) const override { return splits_.at(static_cast<size_t>(episode)); }
  uint64_t fingerprint() const override;

 private:
  struct Place {
    const EpisodeSource* source;
    int state;
  };
  const Place& place(int index) const { return places_.at(static_cast<size_t>(index)); }
  /// Numbers here of the source's states.
  std::vector<int32_t> add_states(const EpisodeSource& source);

  std::vector<std::shared_ptr<const EpisodeSource>> sources_;
  std::vector<Place> places_;
  std::unordered_map<uint64_t, int32_t> index_of_;  // by state key
  std::vector<Episode> episodes_;
  std::vector<Split> splits_;
};

}  // namespace reverie
