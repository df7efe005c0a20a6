#pragma once

#include "worldmodel/checkpoint.h"
#include "worldmodel/torch.h"

namespace reverie {

/// The global latent as a function of the regions' latents alone (after Zaheer et al. 2017, theorem 2),
/// so that who changes some regions can tell z anew:
///
///     z = tanh(linear(sum over regions of part(latent) / usual number of regions)),
///     part(x) = silu(W x + b) - silu(b), which is 0 for a region without nodes
struct RegionPoolImpl : torch::nn::Module {
  RegionPoolImpl(int latent, int width);

  /// What regions add to the sum: [*, latent] -> [*, width].
  torch::Tensor part(const torch::Tensor& regions);
  /// z of the sum of all parts: [*, width] -> [*, latent].
  torch::Tensor from_sum(const torch::Tensor& sum);
  /// Latents of all regions [*, S, latent] -> z [*, latent].
  torch::Tensor forward(const torch::Tensor& regions) { return from_sum(part(regions).sum(-2)); }
  /// The same of [B, S, latent], within rounding; quicker where no gradients are recorded.
  torch::Tensor tell(const torch::Tensor& regions);

  torch::Tensor usual;  ///< [1], number of regions with nodes in a usual state; 1 until it is set
  torch::nn::Linear inner{nullptr}, outer{nullptr};
};
TORCH_MODULE(RegionPool);

/// That of the encoder in a checkpoint of kind "encoder", "world" or "policy". InputError where it
/// holds none, as its regions are one.
RegionPool load_region_pool(const Checkpoint& checkpoint);

}  // namespace reverie
