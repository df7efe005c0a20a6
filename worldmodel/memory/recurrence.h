#pragma once

#include <cstdint>
#include <vector>

#include "worldmodel/network/torch.h"

namespace reverie {

/// Recurrent states at P places.
struct RecurrentStates {
  torch::Tensor hidden, cell;  ///< [P, hidden] each
};

/// Rows by step: at which place each is, no place twice in a step.
struct RecurrentSteps {
  torch::Tensor place;         ///< [n] int64
  std::vector<int64_t> sizes;  ///< rows of each of T steps, n in all
};

/// h of each row after its step, [n, hidden], from its gates of the input [n, 4 hidden] (input,
/// forget, output, candidate) and the weight [4 hidden, hidden] of h; `states` go from those before
/// the first step to those after the last. `before`, where asked for: those before every step, [T,
/// P, hidden] each, without gradients. An LSTM (Hochreiter and Schmidhuber 1997) whose every step
/// takes some of many states further.
torch::Tensor recur(const torch::Tensor& gates, const torch::Tensor& weight,
                    const RecurrentSteps& steps, RecurrentStates& states,
                    RecurrentStates* before = nullptr);

}  // namespace reverie
