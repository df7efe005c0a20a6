#pragma once

#include "core/base/random.h"
#include "worldmodel/network/torch.h"

namespace reverie {

// All randomness of the agents is core/base/random.h's: LibTorch's generator is global.

/// Weights of all matrices anew, uniform with variance 1 / inputs (LeCun et al. 1998); vectors stay
/// as they are but for those named "bias", which become 0.
void draw_weights(torch::nn::Module& module, Rng& rng);

/// Weights uniform in +-sqrt(6 / (rows + columns)), with gradients (Glorot and Bengio 2010).
torch::Tensor glorot(int64_t rows, int64_t columns, Rng& rng);

}  // namespace reverie
