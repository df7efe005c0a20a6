#include "controller/agents/lstm.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

constexpr int64_t kInputs = 3, kHidden = 4, kSteps = 5;

struct Owner : torch::nn::Module {
  Rng rng{1};
  LstmParameters lstm{*this, "lstm", kInputs, kHidden, rng};
};

/// Rows of gates with the candidate before the output gate.
torch::Tensor for_torch(const torch::Tensor& gates) {
  const auto parts = gates.chunk(4);
  return torch::cat({parts[0], parts[1], parts[3], parts[2]});
}

TEST(Lstm, GivesWhatLibTorchsGives) {
  const Owner owner;
  const LstmParameters& lstm = owner.lstm;
  const auto sequence = torch::randn({kSteps, kInputs});
  const auto none = torch::zeros({1, 1, kHidden});
  for (const bool backward : {false, true}) {
    RecurrentStates states;
    const auto outputs = lstm.read(sequence, backward, states);
    const auto [expected, last, cell] =
        torch::lstm((backward ? sequence.flip(0) : sequence).unsqueeze(1), {none, none},
                    {for_torch(lstm.input), for_torch(lstm.hidden), for_torch(lstm.bias),
                     torch::zeros({4 * kHidden})},
                    true, 1, 0.0, false, false, false);
    EXPECT_TRUE(
        outputs.allclose(backward ? expected.squeeze(1).flip(0) : expected.squeeze(1), 1e-4, 1e-5));
    EXPECT_TRUE(states.hidden.allclose(last[0], 1e-4, 1e-5));
    EXPECT_TRUE(states.cell.allclose(cell[0], 1e-4, 1e-5));
  }
}

TEST(Lstm, BeginsByKeepingWhatItHas) {
  const Owner owner;
  EXPECT_TRUE(owner.lstm.bias.slice(0, kHidden, 2 * kHidden).equal(torch::ones({kHidden})));
  EXPECT_EQ(owner.lstm.bias.sum().item<float>(), kHidden);
}

}  // namespace
}  // namespace reverie
