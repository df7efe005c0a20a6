#pragma once

#include <array>
#include <span>
#include <vector>

#include "env/environment.h"
#include "worldmodel/network/tensors.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Sizes of latents; constant over the life of a world model. One entity is the flat model of Ha
/// and Schmidhuber (2018); several factor the graph, of which an action changes one and its
/// neighbours.
struct LatentSpec {
  int latent = 0;  ///< width of the global latent z, and of an entity's
  int hidden = 0;  ///< width of M's recurrent output h
  EnvSpec env;
};

/// What V says of B states, padded to the S entities of the state that has the most. Tensors are
/// float32 where nothing else is said, and on one device.
struct Latents {
  torch::Tensor z;         ///< [B, latent], bounded
  torch::Tensor entities;  ///< [B, S, latent], 0 for one without nodes and for padding
  /// [B, S, K] int32: the neighbours of each entity, their numbers plus 1, ascending; 0 behind the
  /// last. A neighbour shares a value with it: what a node of either makes is used in the other, or
  /// what some node makes is used in both.
  torch::Tensor neighbours;

  std::array<torch::Tensor*, 3> tensors() { return {&z, &entities, &neighbours}; }
};

/// What can be done in B states.
struct LatentMask {
  torch::Tensor totals;     ///< [B, primary] int64: choices at all entities, NO-OP always 1
  torch::Tensor by_entity;  ///< [B, primary, S] int16, as data sets hold many: choices at each

  int64_t entities() const { return by_entity.size(-1); }
  std::array<torch::Tensor*, 2> tensors() { return {&totals, &by_entity}; }
};

/// B states in latent space.
struct LatentState {
  Latents latents;
  torch::Tensor hidden;  ///< [B, S, hidden]; zero at an episode's start
  torch::Tensor cell;    ///< likewise

  std::array<torch::Tensor*, 5> tensors() {
    return {&latents.z, &latents.entities, &latents.neighbours, &hidden, &cell};
  }
};

/// What a policy sees. It cannot tell a dream from the real environment, but where it needs what M
/// alone knows, to plan with it: a dream that is learned in does not show that.
struct LatentObservation {
  torch::Tensor z;  ///< [B, latent]
  torch::Tensor h;  ///< [B, hidden], the mean over the entities with latents
  LatentMask mask;
  torch::Tensor to_go;            ///< [B], remaining share of the horizon, 1 at the start
  torch::Tensor entities;         ///< [B, S, latent]
  torch::Tensor entity_h;         ///< [B, S, hidden]
  torch::Tensor cell = {};        ///< as in LatentState; may be undefined
  torch::Tensor neighbours = {};  ///< as in Latents; undefined with `cell`

  std::array<torch::Tensor*, 9> tensors() {
    return {&z,        &h,        &mask.totals, &mask.by_entity, &to_go,
            &entities, &entity_h, &cell,        &neighbours};
  }
};

/// The observation without what M alone knows, to be kept.
inline LatentObservation without_memory(LatentObservation observation) {
  observation.cell = observation.neighbours = torch::Tensor();
  return observation;
}

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
  torch::Tensor entity;
  torch::Tensor index;  ///< among the equal choices there

  std::array<torch::Tensor*, 3> tensors() { return {&primary, &entity, &index}; }
};

/// The same as B actions of an environment.
std::vector<Action> actions_of(const LatentActions& actions);
/// The other way, on the CPU.
LatentActions latent_actions(std::span<const Action> actions);

}  // namespace reverie
