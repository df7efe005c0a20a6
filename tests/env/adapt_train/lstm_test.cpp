#include "env/adapt/train/lstm.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <tuple>
#include <vector>

namespace reverie::testing {
namespace {

torch::Tensor learned(torch::IntArrayRef sizes) {
  return torch::randn(sizes).set_requires_grad(true);
}

void expect_close(const torch::Tensor& a, const torch::Tensor& b) {
  EXPECT_TRUE(a.defined() && b.defined() && torch::allclose(a, b, 1e-4, 1e-5));
}

TEST(Lstm, IsThatOfLibTorch) {
  for (const auto& [steps, inputs, hidden] : {std::tuple{1, 3, 2}, std::tuple{7, 4, 6}}) {
    const auto sequence = learned({steps, inputs});
    const std::vector<torch::Tensor> weights = {learned({4 * hidden, inputs}),
                                                learned({4 * hidden, hidden}),
                                                learned({4 * hidden}), learned({4 * hidden})};
    const auto ours = lstm(sequence, {weights[0], weights[1], weights[2] + weights[3]});
    const auto zeros = torch::zeros({1, 1, hidden});
    const auto theirs = std::get<0>(torch::lstm(sequence.unsqueeze(1), {zeros, zeros}, weights,
                                                true, 1, 0, false, false, false))
                            .squeeze(1);
    expect_close(ours, theirs);
    std::vector<torch::Tensor> all = weights;
    all.push_back(sequence);
    const auto scale = torch::randn_like(theirs);
    const auto of_ours = torch::autograd::grad({(ours * scale).sum()}, all);
    const auto of_theirs = torch::autograd::grad({(theirs * scale).sum()}, all);
    for (size_t i = 0; i < all.size(); ++i) {
      expect_close(of_ours[i], of_theirs[i]);
      EXPECT_GT(of_theirs[i].abs().max().item<float>(), steps > 1 ? 1e-3 : -1);
    }
  }
}

}  // namespace
}  // namespace reverie::testing
