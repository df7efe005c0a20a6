#pragma once

#include "worldmodel/batch/latents.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Columns of `Rows::relation`.
inline constexpr int kRelationFeatures = 5;

/// `x` itself where the caller hands over the only reference to it and there are no gradients, else
/// a copy.
torch::Tensor own(torch::Tensor x);

/// The n entities at which M works in one step of B trajectories, each once: first the B that are
/// acted in, then those neighbours of theirs that there are, by trajectory. Everything of a state
/// that lies elsewhere is carried over as it is.
class Rows {
 public:
  /// entity: [B], acted in; neighbours: [B, S, K], as in Latents.
  Rows(const torch::Tensor& entity, const torch::Tensor& neighbours);

  int64_t trajectories() const { return acted_.size(0); }
  int64_t size() const { return trajectory_.size(0); }
  /// Of each row, [n] int64.
  const torch::Tensor& trajectory() const { return trajectory_; }
  /// Of each row, [n] int64.
  const torch::Tensor& entity() const { return entity_; }
  /// Of each row among those of [B * S, ...], [n] int64.
  const torch::Tensor& place() const { return place_; }
  /// 1 where a row is acted in, 0 at a neighbour, [n] float32.
  torch::Tensor acted() const;
  /// How each row lies to the entity acted in, [n, kRelationFeatures] float32: whether it is that
  /// one; on which side its number is (-1, 0, 1); choices of the primary action at it and at the
  /// neighbours between both, as log(1 + n); and how far the action's index goes past the latter,
  /// as sign(x) log(1 + |x|). Choices that join nodes of two entities are listed by the other
  /// entity's number, so that the last tells which neighbour such an index reaches. choices: [B, S]
  /// int64, of the primary action by entity; index: [B] int64, as in LatentActions.
  torch::Tensor relation(const torch::Tensor& choices, const torch::Tensor& index) const;

  /// Of B trajectories [B, ...], for each row that of its trajectory: [n, ...].
  torch::Tensor spread(const torch::Tensor& x) const;
  /// The rows [n, ...] of [B, S, ...].
  torch::Tensor take(const torch::Tensor& x) const;
  /// `x` as above, with these rows; the same tensor where the caller hands it over (`own`).
  torch::Tensor put(torch::Tensor x, const torch::Tensor& rows) const;
  /// Choices per primary action, [n, A] int64.
  torch::Tensor counts(const LatentMask& mask) const;
  /// `mask` with these counts [n, K] of K primary actions instead of `before`, those of the rows
  /// now.
  LatentMask put_counts(const LatentMask& mask, const torch::Tensor& actions,
                        const torch::Tensor& before, const torch::Tensor& counts) const;

 private:
  /// f of each neighbour of the entity that trajectory b acts in, ascending.
  template <class F>
  void for_neighbours(int64_t b, const F& f) const {
    const auto near = near_.accessor<int32_t, 2>()[b];
    for (int64_t k = 0; k < near.size(0) && near[k] > 0; ++k) f(near[k] - 1);
  }

  // On the CPU.
  torch::Tensor acted_;  // [B], entity
  torch::Tensor near_;   // [B, K], its neighbours as in Latents

  torch::Tensor trajectory_, entity_, place_;  // [n]
};

}  // namespace reverie
