#pragma once

#include <string>

namespace reverie {

/// What `reverie inspect` prints of a rollout directory; one object in one line with `json`.
std::string inspect_rollouts(const std::string& directory, bool json);

// Where LibTorch is there.
bool is_checkpoint(const std::string& file);
std::string inspect_checkpoint(const std::string& file, bool json);

}  // namespace reverie
