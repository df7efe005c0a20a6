#pragma once

#include <string>

#include "core/base/random.h"
#include "worldmodel/memory/recurrence.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Parameters of an LSTM in one direction, M's recurrence (worldmodel/memory/recurrence.h); gates
/// in the order input, forget, output, candidate.
struct LstmParameters {
  torch::Tensor input;   ///< [4 hidden, inputs]
  torch::Tensor hidden;  ///< [4 hidden, hidden]
  torch::Tensor bias;    ///< [4 hidden]: 1 for the forget gate, else 0 at first

  /// Registers them with `owner` under names that begin with `name`; drawn by `glorot`.
  LstmParameters(torch::nn::Module& owner, const std::string& name, int64_t inputs, int64_t hidden,
                 Rng& rng);

  /// What inputs [rows, inputs] give to the gates, [rows, 4 hidden].
  torch::Tensor gates(const torch::Tensor& inputs) const;
  /// Outputs of steps [steps, sequences, 4 hidden] of the gates: [steps, sequences, hidden].
  /// `states` [sequences, hidden] go from those before the first to those after the last.
  torch::Tensor run(const torch::Tensor& gates, RecurrentStates& states) const;
  /// From zeros on, of one sequence [steps, inputs], forward or from its end: [steps, hidden].
  /// `states` become those after the last step that is read.
  torch::Tensor read(const torch::Tensor& sequence, bool backward, RecurrentStates& states) const;
};

}  // namespace reverie
