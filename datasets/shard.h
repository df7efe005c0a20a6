#pragma once

#include <string>
#include <vector>

#include "datasets/rollouts.h"
#include "datasets/state_table.h"

namespace reverie {

/// What FORMAT.md describes; a file of another version is refused.
inline constexpr int kRolloutSchema = 2;

/// One file of a rollout directory. Transitions refer to `states`.
struct Shard {
  RolloutInfo info;
  int first_episode = 0;
  std::vector<Episode> episodes;
  std::vector<Split> splits;  ///< of each episode
  StateTable states;
};

/// "shard-00012.h5".
std::string shard_name(int index);
/// The bytes of the file: a seal of 512 bytes (schema, size, checksum) before an HDF5 image.
std::string shard_bytes(const Shard& shard);
/// InputError names file, data set and reason. `checksum` receives that of the seal where given.
Shard read_shard(const std::string& path, uint64_t* checksum = nullptr);

/// The seal of an HDF5 image; exposed for tests.
std::string seal_of(const std::string& image, int schema = kRolloutSchema);

}  // namespace reverie
