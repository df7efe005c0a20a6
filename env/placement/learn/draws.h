#pragma once

#include <torch/torch.h>

#include "core/base/random.h"

namespace reverie {

// All randomness of the learners is core/base/random.h's: LibTorch's generator is global.

/// Weights of all matrices anew, uniform with variance 1 / inputs (LeCun et al. 1998); vectors stay
/// as they are but for those named "bias", which become 0.
void draw_weights(torch::nn::Module& module, Rng& rng);

/// For each row of logits [..., actions], an action drawn with the probabilities of their softmax:
/// int64 [...].
torch::Tensor draw_actions(const torch::Tensor& logits, Rng& rng);

}  // namespace reverie
