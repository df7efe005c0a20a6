#pragma once

#include <memory>
#include <string>

#include "controller/policy/policy.h"
#include "worldmodel/encoder/encoder.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

/// V, M and C of a policy file.
struct TrainedPolicy {
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<WorldModel> world;
  std::shared_ptr<Policy> policy;
  /// Configuration of the environment that it was trained on, as YAML; empty where the file says
  /// none.
  std::string environment = {};

  /// The environment that it was trained on, with the names that it knows.
  const EnvSpec& spec() const { return world->spec().env; }
};

/// InputError, naming the file, when it holds no policy.
TrainedPolicy load_trained_policy(const std::string& path, torch::Device device = torch::kCPU);

}  // namespace reverie
