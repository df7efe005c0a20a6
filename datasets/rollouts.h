#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datasets/episode.h"

namespace reverie {

/// Everything that names where a rollout directory came from.
struct RolloutInfo {
  EnvSpec spec;
  uint64_t seed = 0;
  std::string config;               ///< the resolved YAML of the collecting run
  std::vector<std::string> graphs;  ///< names of the start states
};

/// A rollout directory, read back. States are stored once each and loaded on demand; a Rollouts is
/// safe to read from several threads.
class Rollouts {
 public:
  /// InputError names file, data set and reason when a shard is damaged, of another schema version,
  /// or of another environment than the first.
  static Rollouts open(const std::string& directory);

  const RolloutInfo& info() const;
  /// Distinct states over all shards.
  int state_count() const;
  Observation state(int index) const;
  /// Episodes in order of their seeds; transitions refer to `state` indices.
  const std::vector<Episode>& episodes() const;
  /// By episode and by start graph, decided when collected; the same for every reader.
  Split split(int episode) const;
  std::vector<int> episodes_in(Split split) const;
  /// Names the content: equal data gives equal fingerprints.
  uint64_t fingerprint() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace reverie
