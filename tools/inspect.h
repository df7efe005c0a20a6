#pragma once

#include <string>

#include "env/kind.h"
#include "tools/learning.h"

namespace reverie {

/// What `reverie inspect` prints of a rollout directory; one object in one line with `json`.
std::string inspect_rollouts(const std::string& directory, bool json);

/// The operator table, sorted by name: what ONNX calls each operator at which opsets, which
/// executors have a kernel for it, and how many built-in rules match or make it. One object of JSON
/// with `json`.
std::string inspect_operators(bool json);

/// What the environment is about, and of each start state its entities and what can be done; one
/// object in one line with `json`, which lists all actions. InputError as make_environment.
std::string inspect_environment(const EnvironmentConfig& config, bool json);

/// Of a checkpoint.
inline LearningPart<std::string(const std::string& file, bool json)> inspect_checkpoint;

}  // namespace reverie
