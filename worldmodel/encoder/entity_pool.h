#pragma once

#include "worldmodel/network/checkpoint.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// The global latent as a function of the entities' latents alone (after Zaheer et al. 2017,
/// theorem 2), so that who changes some entities can tell z anew:
///
///     z = tanh(linear(sum over entities of part(latent) / usual number of entities)),
///     part(x) = silu(W x + b) - silu(b), which is 0 for an entity without nodes
struct EntityPoolImpl : torch::nn::Module {
  EntityPoolImpl(int latent, int width);

  /// What entities add to the sum: [*, latent] -> [*, width].
  torch::Tensor part(const torch::Tensor& entities);
  /// z of the sum of all parts: [*, width] -> [*, latent].
  torch::Tensor from_sum(const torch::Tensor& sum);
  /// Latents of all entities [*, S, latent] -> z [*, latent].
  torch::Tensor forward(const torch::Tensor& entities) { return from_sum(part(entities).sum(-2)); }
  /// The same of [B, S, latent], within rounding; quicker where no gradients are recorded.
  torch::Tensor tell(const torch::Tensor& entities);

  torch::Tensor usual;  ///< [1], number of entities with nodes in a usual state; 1 until it is set
  torch::nn::Linear inner{nullptr}, outer{nullptr};
};
TORCH_MODULE(EntityPool);

/// That of the encoder in a checkpoint of kind "encoder", "world" or "policy". InputError where it
/// holds none, as its entities are one.
EntityPool load_entity_pool(const Checkpoint& checkpoint);

}  // namespace reverie
