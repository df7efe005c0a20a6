#pragma once

#include <memory>

#include "env/environment.h"
#include "worldmodel/encoder/entity_pool.h"
#include "worldmodel/encoder/graph_encoder.h"
#include "worldmodel/memory/world_model.h"

namespace reverie::testing {

/// Small V and M with random weights for an environment.
struct UntrainedWorld {
  explicit UntrainedWorld(const EnvSpec& environment) {
    torch::manual_seed(7);
    EncoderConfig vae;
    vae.latent = 6;
    vae.width = 8;
    encoder = make_encoder(vae, environment);
    config.hidden = 12;
    LatentSpec spec;
    spec.latent = vae.latent;
    spec.hidden = config.hidden;
    spec.env = environment;
    Checkpoint stored;
    encoder->store(stored);
    world = std::make_shared<MdnWorldModel>(MdnRnn(config, spec, load_entity_pool(stored)));
  }

  Checkpoint checkpoint() const {
    Checkpoint result;
    result.kind = "world";
    result.spec = world->spec().env;
    result.data = 5;
    encoder->store(result);
    world->store(result);
    return result;
  }

  WorldModelConfig config;  ///< of M
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<WorldModel> world;
};

}  // namespace reverie::testing
