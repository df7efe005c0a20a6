#pragma once

#include "core/base/random.h"
#include "worldmodel/network/torch.h"

namespace reverie {

// Distributions over actions as the softmax of logits [..., actions].

/// Of actions int64 [...]: [...].
torch::Tensor log_probability(const torch::Tensor& logits, const torch::Tensor& actions);
/// Mean of their entropies, a scalar.
torch::Tensor mean_entropy(const torch::Tensor& logits);
/// An action of each, int64 [...].
torch::Tensor draw_actions(const torch::Tensor& logits, Rng& rng);

}  // namespace reverie
