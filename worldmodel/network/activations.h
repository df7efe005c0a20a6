#pragma once

#include "worldmodel/network/torch.h"

namespace reverie {

// Without gradients, in one pass over memory on the CPU, where rows may lie apart; on other devices
// by LibTorch's operations, one by one.

/// tanh(x), to 2.4e-7; with gradients where these are recorded.
torch::Tensor tanh_all(const torch::Tensor& x);
/// x [n, columns] becomes silu(x).
void silu_rows(torch::Tensor& x);
/// x [n * group, columns] -> out [n, columns]: sums of silu(x) - offset [columns] over each `group`
/// rows. On the CPU alone.
void sum_silu_rows(const torch::Tensor& x, const torch::Tensor& offset, torch::Tensor& out);
/// An LSTM's c [n, hidden] becomes the next one, and h is written, by its gates [n, 4 hidden]
/// (input, forget, output, candidate), which lack their activations and may be overwritten.
void lstm_rows(torch::Tensor& gates, torch::Tensor& c, torch::Tensor& h);

}  // namespace reverie
