#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "env/vector_environment.h"
#include "worldmodel/encoder/encoder.h"
#include "worldmodel/latent/latent_environment.h"
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
  LatentObservation observe() const override;
  EnvCounters counters() const override { return real_.counters(); }

  /// Trajectory b's real environment, to look at.
  const Environment& environment(int b) const { return real_.slot(b); }

 private:
  /// Latents and masks of what these trajectories have reached.
  std::pair<Latents, LatentMask> look(const std::vector<int64_t>& rows);
  /// Latents of the observations; encodes those whose keys are new since the reset.
  Latents latents_of(const std::vector<Observation>& seen);
  /// Takes the recurrent states of these trajectories over the actions and looks at what they
  /// reach.
  void move(const LatentActions& actions, const std::vector<int64_t>& rows);

  LatentSpec spec_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<WorldModel> world_;
  VectorEnvironment real_;
  std::unordered_map<uint64_t, Latents> latents_;  // by state key
  LatentState state_;
  LatentMask mask_;
  std::vector<int> steps_;
  std::vector<char> terminated_;
  std::vector<char> truncated_;
};

}  // namespace reverie
