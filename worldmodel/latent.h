#pragma once

#include <memory>

#include "env/environment.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Sizes of latents; constant over the life of a world model. S = 1 is the flat model of Ha and
/// Schmidhuber (2018).
struct LatentSpec {
  int latent = 0;     ///< width of the global latent z
  int regions = 1;    ///< S
  int hidden = 0;     ///< width of M's recurrent output h
  EnvSpec env;        ///< actions, horizon, fingerprint
};

/// B states in latent space. Tensors are float32 on one device.
struct LatentState {
  torch::Tensor z;          ///< [B, latent], bounded
  torch::Tensor regions;    ///< [B, S, latent] or undefined when S = 1
  torch::Tensor hidden;     ///< [layers, B, hidden], zero at an episode's start
  torch::Tensor cell;       ///< [layers, B, hidden]
};

/// What a policy sees. It cannot tell a dream from the real environment.
struct LatentObservation {
  torch::Tensor z;        ///< [B, latent]
  torch::Tensor h;        ///< [B, hidden]
  torch::Tensor counts;   ///< [B, primary], int64: valid secondary choices, NO-OP always 1
  torch::Tensor to_go;    ///< [B], remaining share of the horizon, 1 at the start
};

/// B actions; int64 [B] each.
struct LatentActions {
  torch::Tensor primary;
  torch::Tensor secondary;  ///< index among the valid choices
};

struct LatentStep {
  torch::Tensor reward;      ///< [B] float32
  torch::Tensor terminated;  ///< [B] bool, and stays so until the next reset
  torch::Tensor truncated;   ///< [B] bool, likewise; never together with `terminated`
};

/// The pivot between dream and reality: B trajectories stepped by one call. A trajectory that has
/// ended ignores actions and gives zero reward until the next reset; it shows the state in which its
/// last action was taken when it was terminated, and the state it reached when it was truncated.
/// Tensors that are given out are never written again. Every implementation passes the
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
};

}  // namespace reverie
