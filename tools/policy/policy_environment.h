#pragma once

#include <string>

#include "core/base/error.h"
#include "env/kind.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie {

/// Settings of the environment that a policy was trained in. `purpose`: "placing graphs".
/// InputError where that is another environment, or the file holds no policy.
template <class Config>
Config environment_of_policy(const std::string& file, const char* purpose) {
  const Checkpoint checkpoint = load_checkpoint(file, "policy");
  if (checkpoint.spec.name != Config::kKind)
    throw InputError("{}: is a policy for the environment '{}', not for {}", file,
                     checkpoint.spec.name, purpose);
  const auto environment = checkpoint.configs.find("environment");
  return environment == checkpoint.configs.end()
             ? Config()
             : environment_from(environment->second).of<Config>();
}

}  // namespace reverie
