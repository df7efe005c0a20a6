#pragma once

#include <vector>

#include "env/adapt/train/module.h"

namespace reverie {

/// Adam (Kingma and Ba 2015, algorithm 1) with beta 0.9 and 0.999 and epsilon 1e-8. A value.
class Adam {
 public:
  Adam(const std::vector<torch::Tensor>& parameters, double rate);

  /// Moves the parameters it was made for, against gradients in their order; undefined ones are of
  /// parameters that the loss does not depend on.
  void step(const std::vector<torch::Tensor>& parameters,
            const std::vector<torch::Tensor>& gradients);

  double rate;
  int64_t steps = 0;
  std::vector<OwnTensor> means, squares;  ///< moving averages of the gradients and of their squares
};

}  // namespace reverie
