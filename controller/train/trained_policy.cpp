#include "controller/train/trained_policy.h"

#include "controller/train/trainer_config.h"
#include "core/base/error.h"

namespace reverie {

TrainedPolicy load_trained_policy(const std::string& path, torch::Device device) {
  return with_context(path, [&] {
    const Checkpoint checkpoint = load_checkpoint(path, "policy");
    TrainedPolicy trained;
    trained.encoder = load_encoder(checkpoint);
    trained.world = load_world_model(checkpoint);
    trained.encoder->to_device(device);
    trained.world->to_device(device);
    trained.policy = load_policy(checkpoint, trained.world, device);
    const auto environment = checkpoint.configs.find("environment");
    if (environment != checkpoint.configs.end()) trained.environment = environment->second;
    return trained;
  });
}

}  // namespace reverie
