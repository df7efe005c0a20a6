#pragma once

#include <string>
#include <vector>

#include "core/hdf5/seal.h"
#include "datasets/rollouts.h"
#include "datasets/state_table.h"

namespace reverie {

/// What FORMAT.md describes.
inline constexpr hdf5::FileKind kRolloutFile = {.magic = "reverie rollouts",
                                                .name = "rollout shard",
                                                .schema = 5,
                                                .renew = "collect again",
                                                .repair = "remove it and resume the collection"};

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
/// The bytes of the file: an HDF5 image, sealed.
std::string shard_bytes(const Shard& shard);
/// InputError names file, data set and reason. `checksum` receives that of the seal where given.
Shard read_shard(const std::string& path, uint64_t* checksum = nullptr);

}  // namespace reverie
