#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "datasets/episode.h"
#include "env/environment.h"

namespace reverie {

/// What learning reads: distinct states and the episodes that visit them.
class EpisodeSource {
 public:
  virtual ~EpisodeSource() = default;
  virtual const EnvSpec& spec() const = 0;
  virtual int state_count() const = 0;
  virtual uint64_t state_key(int index) const = 0;
  virtual Observation state(int index) const = 0;
  virtual const ActionMask& mask(int index) const = 0;  ///< of a state
  virtual int node_count(int index) const = 0;          ///< of a state's graph
  virtual const std::vector<Episode>& episodes() const = 0;
  virtual Split split(int episode) const = 0;
  virtual uint64_t fingerprint() const = 0;

  std::vector<int> episodes_in(Split split) const;
  /// States that episodes of the split visit, ascending, each once.
  std::vector<int> states_in(Split split) const;
  /// Whose loss says when training has gone far enough: validation, or training where nothing is
  /// held out for it.
  Split judging_split() const;
};

/// Episodes held in memory; equal states (by key) are stored once.
class MemoryEpisodes : public EpisodeSource {
 public:
  explicit MemoryEpisodes(EnvSpec spec) : spec_(std::move(spec)) {}

  /// Index of the state, new or known.
  int32_t add_state(Observation state);
  void add_episode(Episode episode, Split split);

  const EnvSpec& spec() const override { return spec_; }
  int state_count() const override { return static_cast<int>(states_.size()); }
  uint64_t state_key(int index) const override { return states_.at(index).state_key; }
  Observation state(int index) const override { return states_.at(index); }
  const ActionMask& mask(int index) const override { return states_.at(index).mask; }
  int node_count(int index) const override { return states_.at(index).graph.node_count(); }
  const std::vector<Episode>& episodes() const override { return episodes_; }
  Split split(int episode) const override { return splits_.at(episode); }
  uint64_t fingerprint() const override;

 private:
  EnvSpec spec_;
  std::vector<Observation> states_;
  std::unordered_map<uint64_t, size_t> index_of_;  // by state key
  std::vector<Episode> episodes_;
  std::vector<Split> splits_;
};

}  // namespace reverie
