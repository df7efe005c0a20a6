#include "controller/agents/lstm.h"

#include "controller/agents/initial_weights.h"

namespace reverie {
namespace {

/// Drawn with the candidate's rows before those of the output gate, as LibTorch has them.
torch::Tensor drawn(int64_t width, int64_t columns, Rng& rng) {
  const auto gates = glorot(4 * width, columns, rng).detach().chunk(4);
  return torch::cat({gates[0], gates[1], gates[3], gates[2]}).set_requires_grad(true);
}

}  // namespace

LstmParameters::LstmParameters(torch::nn::Module& owner, const std::string& name, int64_t inputs,
                               int64_t width, Rng& rng) {
  input = owner.register_parameter(name + "_input", drawn(width, inputs, rng));
  hidden = owner.register_parameter(name + "_hidden", drawn(width, width, rng));
  const auto start = torch::zeros({4, width});
  start[1].fill_(1);
  bias = owner.register_parameter(name + "_bias", start.view(-1));
}

torch::Tensor LstmParameters::gates(const torch::Tensor& inputs) const {
  return torch::addmm(bias, inputs, input.t());
}

torch::Tensor LstmParameters::run(const torch::Tensor& gates, RecurrentStates& states) const {
  const int64_t steps = gates.size(0), sequences = gates.size(1);
  const RecurrentSteps all{torch::arange(sequences).repeat({steps}),
                           std::vector<int64_t>(static_cast<size_t>(steps), sequences)};
  return recur(gates.flatten(0, 1), hidden, all, states).view({steps, sequences, -1});
}

torch::Tensor LstmParameters::read(const torch::Tensor& sequence, bool backward,
                                   RecurrentStates& states) const {
  const auto zeros = torch::zeros({1, hidden.size(1)});
  states = {zeros, zeros};
  const auto in_order = backward ? sequence.flip(0) : sequence;
  const auto outputs = run(gates(in_order).unsqueeze(1), states).squeeze(1);
  return backward ? outputs.flip(0) : outputs;
}

}  // namespace reverie
