#pragma once

#include <torch/types.h>

namespace reverie {

/// Weights of an LSTM in one direction, as torch::nn::LSTM has them; gates in the order input,
/// forget, cell, output.
struct LstmWeights {
  torch::Tensor input;   ///< [4 hidden, inputs]
  torch::Tensor hidden;  ///< [4 hidden, hidden]
  torch::Tensor bias;    ///< [4 hidden]: torch::nn::LSTM has two, which are added
};

/// What the LSTM gives after each step of a sequence, from a state of zeros on: [steps, inputs] ->
/// [steps, hidden], float on the CPU; gradients reach the sequence and the weights. The same as
/// torch::lstm, whose many small operations take several times as long on short sequences.
torch::Tensor lstm(const torch::Tensor& sequence, const LstmWeights& weights);

}  // namespace reverie
