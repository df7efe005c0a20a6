#pragma once

#include "worldmodel/latent.h"
#include "worldmodel/torch.h"

namespace reverie {

/// The n places at which M works in one step of B trajectories. When S = 1 they are the states as a
/// whole, n = B, and nothing is gathered. When S > 1 they are regions, each place once: first the B
/// regions that are acted in, then those neighbours of theirs that there are, by trajectory.
/// Everything of a state that lies elsewhere is carried over as it is.
class Rows {
 public:
  /// region: [B], acted in; neighbours: [B, S], as in Latents.
  Rows(const torch::Tensor& region, const torch::Tensor& neighbours);

  int64_t trajectories() const { return acted_.size(0); }
  int64_t size() const { return flat() ? trajectories() : trajectory_.size(0); }
  bool flat() const { return !trajectory_.defined(); }
  /// Of each row, [n] int64.
  torch::Tensor trajectory() const;
  /// 1 where a row is acted in, 0 at a neighbour, [n, 1] float32.
  torch::Tensor acted() const;

  /// Of B trajectories [B, ...], for each row that of its trajectory: [n, ...].
  torch::Tensor spread(const torch::Tensor& x) const;
  /// The rows [n, ...] of [B, S, ...], or of [B, ...] when S = 1.
  torch::Tensor take(const torch::Tensor& x) const;
  /// `x` as above, with these rows.
  torch::Tensor put(const torch::Tensor& x, const torch::Tensor& rows) const;
  /// Latents: of states, or of regions.
  torch::Tensor latent(const Latents& latents) const {
    return take(flat() ? latents.z : latents.regions);
  }
  /// Choices per primary action, [n, A] int64.
  torch::Tensor counts(const LatentMask& mask) const;
  /// `mask` with these counts [n, A] instead of `before`, those of the rows now. Where the sum over
  /// regions would pass `max_secondary` none gains.
  LatentMask put_counts(const LatentMask& mask, const torch::Tensor& before,
                        const torch::Tensor& counts, int max_secondary) const;

 private:
  torch::Tensor acted_;                // [B], region
  torch::Tensor trajectory_, region_;  // [n]; undefined when S = 1
};

}  // namespace reverie
