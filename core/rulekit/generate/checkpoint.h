#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/rulekit/generate/enumerate.h"
#include "core/rulekit/generate/identity.h"

namespace reverie::generate {

/// Pairs that were considered and not kept, by why.
struct PruneCounts {
  uint64_t follows = 0, unequal = 0, repeated = 0;
  bool operator==(const PruneCounts&) const = default;
};

/// How far the last level has come; everything before it is quickly found again.
struct Checkpoint {
  uint64_t parts = 0;  ///< finished
  LevelCounts counts;
  std::vector<Candidate> candidates;
  uint64_t considered = 0;  ///< of the candidates, in the order in which they are
  PruneCounts pruned;  ///< since the beginning, as are the identities; both when considered > 0
  std::vector<Identity> identities;
  std::vector<Application> unproved;  ///< as the identities
  bool operator==(const Checkpoint&) const = default;
};

/// `options`: what the run was asked for, in words. Written aside and renamed.
void write_checkpoint(const std::string& path, const std::string& options, const Checkpoint& state);
/// Nothing where there is no file. InputError where it is damaged or of other options.
std::optional<Checkpoint> read_checkpoint(const std::string& path, const std::string& options);

}  // namespace reverie::generate
