#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/rules/generate/enumerate.h"

namespace reverie::generate {

/// What the last level has found so far; everything before it is quickly found again.
struct Checkpoint {
  uint64_t parts = 0;  ///< finished
  LevelCounts counts;
  std::vector<Candidate> candidates;
  bool operator==(const Checkpoint&) const = default;
};

/// `options`: what the run was asked for, in words. Written aside and renamed.
void write_checkpoint(const std::string& path, const std::string& options, const Checkpoint& state);
/// Nothing where there is no file. InputError where it is damaged or of other options.
std::optional<Checkpoint> read_checkpoint(const std::string& path, const std::string& options);

}  // namespace reverie::generate
