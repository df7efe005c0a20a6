#include "worldmodel/memory/recurrence.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr int64_t kHidden = 20, kPlaces = 7;

/// Three steps, in which some places come back, some come once and one never.
struct Case {
  Case() {
    torch::manual_seed(5);
    gates = torch::randn({6, 4 * kHidden});
    weight = torch::randn({4 * kHidden, kHidden});
    hidden = torch::randn({kPlaces, kHidden});
    cell = torch::randn({kPlaces, kHidden});
  }

  const RecurrentSteps steps{torch::tensor({4, 1, 6, 1, 4, 0}, torch::kInt64), {2, 3, 1}};
  torch::Tensor gates, weight, hidden, cell;
};

void expect_close(const torch::Tensor& a, const torch::Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-5)) << (a - b).abs().max();
}

/// LibTorch has the candidate before the output gate.
torch::Tensor in_their_order(const torch::Tensor& rows) {
  const auto parts = rows.chunk(4, 0);
  return torch::cat({parts[0], parts[1], parts[3], parts[2]});
}

/// The states of a row after its step, as LibTorch has them.
RecurrentStates stepped(const Case& c, int64_t row, const RecurrentStates& before) {
  const auto gates = c.gates.narrow(0, row, 1);
  const auto [hidden, cell] =
      at::lstm_cell(in_their_order(gates.t()).t(), {before.hidden, before.cell},
                    torch::eye(4 * kHidden), in_their_order(c.weight));
  return {hidden, cell};
}

TEST(RecurrenceTest, RowsGoOnFromTheirPlacesAsLibTorchsDoAndTheOthersStay) {
  const Case c;
  RecurrentStates after{c.hidden, c.cell}, before;
  const auto rows = recur(c.gates, c.weight, c.steps, after, &before);
  RecurrentStates now{c.hidden.clone(), c.cell.clone()};
  int64_t row = 0;
  for (size_t t = 0; t < c.steps.sizes.size(); ++t) {
    expect_close(before.hidden[static_cast<int64_t>(t)], now.hidden);
    expect_close(before.cell[static_cast<int64_t>(t)], now.cell);
    for (const int64_t end = row + c.steps.sizes[t]; row < end; ++row) {
      const int64_t place = c.steps.place[row].item<int64_t>();
      const auto at = [&](torch::Tensor& states) { return states.narrow(0, place, 1); };
      const RecurrentStates next = stepped(c, row, {at(now.hidden), at(now.cell)});
      at(now.hidden).copy_(next.hidden);
      at(now.cell).copy_(next.cell);
      expect_close(rows.narrow(0, row, 1), next.hidden);
    }
  }
  expect_close(after.hidden, now.hidden);
  expect_close(after.cell, now.cell);
  for (const int64_t place : {2, 3, 5}) {
    EXPECT_TRUE(torch::equal(after.hidden[place], c.hidden[place]));
    EXPECT_TRUE(torch::equal(after.cell[place], c.cell[place]));
  }
}

TEST(RecurrenceTest, GradientsGoThroughTimeButNotIntoTheStatesBefore) {
  Case c;
  c.gates.requires_grad_();
  c.hidden.requires_grad_();
  RecurrentStates states{c.hidden, c.cell}, before;
  const auto rows = recur(c.gates, c.weight, c.steps, states, &before);
  EXPECT_FALSE(before.hidden.requires_grad());
  rows[4].sum().backward();  // the second step at place 4
  EXPECT_GT(c.gates.grad()[0].abs().sum().item<double>(), 0) << "the first one there";
  EXPECT_EQ(c.gates.grad()[1].abs().sum().item<double>(), 0) << "another place";
  EXPECT_GT(c.hidden.grad()[4].abs().sum().item<double>(), 0);
}

TEST(RecurrenceTest, StepsMustHoldAllRows) {
  const Case c;
  RecurrentStates states{c.hidden, c.cell};
  EXPECT_THROW(recur(c.gates, c.weight, {c.steps.place, {2, 3}}, states), InternalError);
}

}  // namespace
}  // namespace reverie
