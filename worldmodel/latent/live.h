#pragma once

#include <memory>

#include "env/vector_environment.h"
#include "worldmodel/encoder/encoder.h"
#include "worldmodel/latent/latent_environment.h"
#include "worldmodel/latent/trajectories.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

/// B real environments behind V, with M carrying the recurrent state. Graphs of all trajectories
/// are encoded in one batch, each distinct state once between resets; the mask is the environment's
/// own. Trajectory b of `reset(seed)` is the episode of seed `seed + b`.
class LiveLatentEnvironment : public LatentEnvironment {
 public:
  /// Forks `environment` B times, translated to the names that the world model knows
  /// (env/translated.h); InputError as there. Results do not depend on `workers`, the threads that
  /// step and look; 0 takes one per processor, or a single one where the environment is not
  /// deterministic, as measurements must not disturb each other.
  LiveLatentEnvironment(const Environment& environment, std::shared_ptr<Encoder> encoder,
                        std::shared_ptr<WorldModel> world, int batch, int workers = 0);

  const LatentSpec& spec() const override { return spec_; }
  int batch() const override { return real_.size(); }
  LatentObservation reset(uint64_t seed) override;
  LatentStep step(const LatentActions& actions) override;
  LatentObservation observe() const override { return trajectories_.observe(); }
  EnvCounters counters() const override { return real_.counters(); }

  /// Trajectory b's real environment, to look at.
  const Environment& environment(int b) const { return real_.slot(b); }

 private:
  LatentSpec spec_;
  VectorEnvironment real_;
  Trajectories trajectories_;
};

}  // namespace reverie
