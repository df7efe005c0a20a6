#pragma once

#include <cstdint>
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

}  // namespace reverie
