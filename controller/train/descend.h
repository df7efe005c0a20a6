#pragma once

#include "worldmodel/network/torch.h"

namespace reverie {

/// One step by the gradients that there are, the norm of all of the first group together clipped;
/// gives the norm before.
double clipped_step(torch::optim::Optimizer& optimizer, double max_norm);
/// One such step down a loss.
double descend_gradient(torch::optim::Optimizer& optimizer, const torch::Tensor& loss,
                        double max_norm);

}  // namespace reverie
