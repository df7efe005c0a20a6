#pragma once

#include "worldmodel/batch/latents.h"

namespace reverie {

struct LatentStep {
  torch::Tensor reward;      ///< [B] float32
  torch::Tensor terminated;  ///< [B] bool, and stays so until the next reset
  torch::Tensor truncated;   ///< [B] bool, likewise; never together with `terminated`
};

/// The pivot between dream and reality: B trajectories stepped by one call. A trajectory that has
/// ended ignores actions and gives zero reward until the next reset; it shows the state in which
/// its last action was taken when it was terminated, and the state it reached when it was
/// truncated. Tensors that are given out are never written again. Every implementation passes the
/// suite in tests/worldmodel/latent_conformance.h.
class LatentEnvironment {
 public:
  virtual ~LatentEnvironment() = default;
  virtual const LatentSpec& spec() const = 0;
  virtual int batch() const = 0;
  /// Starts B new episodes.
  virtual LatentObservation reset(uint64_t seed) = 0;
  virtual LatentStep step(const LatentActions& actions) = 0;
  virtual LatentObservation observe() const = 0;
  /// Real work done so far; a dream's stays at zero.
  virtual EnvCounters counters() const = 0;
  /// Steps by known dynamics so far: no real work.
  virtual int64_t computed_steps() const { return 0; }
};

}  // namespace reverie
