#pragma once

#include <cstdint>

#include "core/base/config_sections.h"
#include "datasets/collect.h"
#include "env/kind.h"

namespace reverie {

/// Of agents that learn before they play, which the program with LibTorch adds in static
/// initializers: their settings, at their defaults.
inline ConfigSections learning_agents;

/// What `reverie collect` resolves and keeps with the data; later steps make the environment again
/// from it.
struct CollectStepConfig {
  uint64_t seed = 0;
  EnvironmentConfig env;
  CollectConfig collect;
  ConfigSections agents = learning_agents;

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.section("env", env, "The environment");
    v.section("collect", collect, "Collection of rollouts");
    agents.fields(v);
  }
};

}  // namespace reverie
