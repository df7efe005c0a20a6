#pragma once

#include <array>
#include <memory>

#include "env/environment.h"
#include "worldmodel/tensors.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Sizes of latents; constant over the life of a world model. S = 1 is the flat model of Ha and
/// Schmidhuber (2018); S > 1 factors the graph into regions, of which an action changes one and its
/// neighbours.
struct LatentSpec {
  int latent = 0;     ///< width of the global latent z, and of a region's
  int regions = 1;    ///< S
  int hidden = 0;     ///< width of M's recurrent output h
  EnvSpec env;        ///< actions, horizon, fingerprint
};

/// What V says of B states. Tensors are float32 on one device.
struct Latents {
  torch::Tensor z;           ///< [B, latent], bounded
  torch::Tensor regions;     ///< [B, S, latent], 0 for a region without nodes; undefined when S = 1
  /// [B, S] int64: bit s is set where region s is a neighbour, one that shares a value with this one: what
  /// a node of either makes is used in the other, or what some node makes is used in both; undefined
  /// when S = 1.
  torch::Tensor neighbours;

  std::array<torch::Tensor*, 3> tensors() { return {&z, &regions, &neighbours}; }
};

/// What can be done in B states.
struct LatentMask {
  torch::Tensor counts;   ///< [B, primary], int64: valid secondary choices, NO-OP always 1
  /// [B, primary, S] int16, as data sets hold many: how many of them lie in each region, those of
  /// region 0 coming first; undefined when S = 1.
  torch::Tensor regions;

  std::array<torch::Tensor*, 2> tensors() { return {&counts, &regions}; }
};

/// B states in latent space.
struct LatentState {
  Latents latents;
  torch::Tensor hidden;  ///< [B, hidden], or [B, S, hidden] when S > 1; zero at an episode's start
  torch::Tensor cell;    ///< likewise

  std::array<torch::Tensor*, 5> tensors() {
    return {&latents.z, &latents.regions, &latents.neighbours, &hidden, &cell};
  }
};

/// What a policy sees. It cannot tell a dream from the real environment.
struct LatentObservation {
  torch::Tensor z;         ///< [B, latent]
  torch::Tensor h;         ///< [B, hidden]; when S > 1 the mean over the regions with latents
  LatentMask mask;
  torch::Tensor to_go;     ///< [B], remaining share of the horizon, 1 at the start
  torch::Tensor regions;   ///< [B, S, latent]; undefined when S = 1
  torch::Tensor region_h;  ///< [B, S, hidden]; undefined when S = 1

  std::array<torch::Tensor*, 7> tensors() {
    return {&z, &h, &mask.counts, &mask.regions, &to_go, &regions, &region_h};
  }
};

LatentObservation observation_of(const LatentState& state, const LatentMask& mask,
                                 const torch::Tensor& to_go);

/// LatentObservation::to_go after so many steps of an episode.
inline float time_to_go(int steps, int horizon) {
  return 1.0f - static_cast<float>(steps) / static_cast<float>(horizon);
}
/// Likewise, of steps [B] int64.
inline torch::Tensor time_to_go(const torch::Tensor& steps, int horizon) {
  return 1 - steps.to(torch::kFloat) / static_cast<double>(horizon);
}

/// B actions; int64 [B] each.
struct LatentActions {
  torch::Tensor primary;
  torch::Tensor secondary;  ///< index among the valid choices

  std::array<torch::Tensor*, 2> tensors() { return {&primary, &secondary}; }
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
  /// Steps of real transitions whose rewards are dreamed so far: no real work.
  virtual int64_t symbolic_steps() const { return 0; }
};

}  // namespace reverie
