#pragma once

#include "worldmodel/latent.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Columns of `Rows::relation`.
inline constexpr int kRelationFeatures = 5;

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
  /// Of each row, [n] int64; 0 when S = 1.
  torch::Tensor region() const;
  /// 1 where a row is acted in, 0 at a neighbour, [n] float32.
  torch::Tensor acted() const;
  /// How each row lies to the region acted in, [n, kRelationFeatures] float32, when S > 1: whether it is
  /// that one; on which side its number is (-1, 0, 1); choices of the action's rule in it and in the
  /// neighbours between both, as log(1 + n); and how far the action's index goes past the latter, as
  /// sign(x) log(1 + |x|). Rewrites that join nodes of two regions are listed by the other region's
  /// number, so that the last tells which neighbour such an index reaches.
  /// choices: [B, S] int64, of the action's rule by region; index: [B] int64, as in RegionActions.
  torch::Tensor relation(const torch::Tensor& choices, const torch::Tensor& index) const;

  /// Of B trajectories [B, ...], for each row that of its trajectory: [n, ...].
  torch::Tensor spread(const torch::Tensor& x) const;
  /// The rows [n, ...] of [B, S, ...], or of [B, ...] when S = 1.
  torch::Tensor take(const torch::Tensor& x) const;
  /// `x` as above, with these rows; written in place where the caller hands over the only reference to
  /// it and there are no gradients.
  torch::Tensor put(torch::Tensor x, const torch::Tensor& rows) const;
  /// Latents: of states, or of regions.
  torch::Tensor latent(const Latents& latents) const {
    return take(flat() ? latents.z : latents.regions);
  }
  /// Choices per primary action, [n, A] int64.
  torch::Tensor counts(const LatentMask& mask) const;
  /// `mask` with these counts [n, K] of K rules instead of `before`, those of the rows now. Where the
  /// sum over regions would pass `max_secondary` none gains.
  LatentMask put_counts(const LatentMask& mask, const torch::Tensor& rules,
                        const torch::Tensor& before, const torch::Tensor& counts,
                        int max_secondary) const;

 private:
  torch::Tensor acted_;                // [B], region
  torch::Tensor near_;                 // [B, S] int64, 1 at neighbours; undefined when S = 1
  torch::Tensor trajectory_, region_;  // [n]; undefined when S = 1
};

}  // namespace reverie
