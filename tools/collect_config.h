#pragma once

#include <cstdint>

#ifdef REVERIE_LEARNING
#include "controller/modelfree/agent_ppo.h"
#endif
#include "datasets/collect.h"
#include "env/kind.h"

namespace reverie {

/// What `reverie collect` resolves and keeps with the data; later steps make the environment again
/// from it.
struct CollectStepConfig {
  uint64_t seed = 0;
  EnvironmentConfig env;
  CollectConfig collect;
#ifdef REVERIE_LEARNING
  AgentPpoConfig ppo;
  /// Whether its settings are among the fields. They are not kept where another agent plays, so
  /// that data are the same whichever program collects.
  bool with_ppo = true;
#endif

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.section("env", env, "The environment");
    v.section("collect", collect, "Collection of rollouts");
#ifdef REVERIE_LEARNING
    if (with_ppo) v.section("ppo", ppo, "The agent ppo, which is trained before it plays");
#endif
  }
};

}  // namespace reverie
