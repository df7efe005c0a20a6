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
  std::string config;        ///< the resolved YAML of the collecting run
  int planned_episodes = 0;  ///< what a completed collection holds
  int shard_episodes = 0;    ///< episodes of each shard but the last

  bool operator==(const RolloutInfo&) const = default;
};

/// A rollout directory, read back; FORMAT.md says what stands in it. States are kept compact in
/// memory, whole shards at a time, and decoded when asked for; features have the precision of
/// float16. A Rollouts is safe to read from several threads; copies share.
class Rollouts {
 public:
  /// Reads and checks every shard. InputError names file, data set and reason when a shard is
  /// damaged, missing, of another schema version, or of another collection than the first. An
  /// interrupted collection opens with the episodes it has. Shards beyond `memory_bytes` are
  /// dropped and read again when needed.
  static Rollouts open(const std::string& directory, size_t memory_bytes = size_t{2} << 30);

  const RolloutInfo& info() const;
  /// Distinct states over all shards; equal keys are confirmed by content.
  int state_count() const;
  Observation state(int index) const;
  /// Episodes in the order of collection; transitions refer to `state` indices.
  const std::vector<Episode>& episodes() const;
  /// By episode and by start graph, decided when collected; the same for every reader.
  Split split(int episode) const;
  /// Names the content: equal data gives equal fingerprints.
  uint64_t fingerprint() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace reverie
