#include "worldmodel/memory/recurrence.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr int64_t kHidden = 20, kPlaces = 7;

/// Three steps, in which some places come back, some come once and one never.
struct Case {
  Case() {
    torch::manual_seed(5);
    const auto leaf = [](at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); };
    gates = leaf({6, 4 * kHidden});
    weight = leaf({4 * kHidden, kHidden});
    hidden = leaf({kPlaces, kHidden});
    cell = leaf({kPlaces, kHidden});
  }

  const RecurrentSteps steps{torch::tensor({4, 1, 6, 1, 4, 0}, torch::kInt64), {2, 3, 1}};
  torch::Tensor gates, weight, hidden, cell;
};

using Recurrence = decltype(recur)*;

struct Result {
  torch::Tensor rows;
  RecurrentStates after, before;
  std::vector<torch::Tensor> gradients;  ///< of gates, weight, hidden, cell
};

/// `weights`: of rows, hidden and cell in what gradients are taken of; 0: not in it at all.
Result run(Recurrence recurrence, std::array<double, 3> weights = {1, 1, 1}) {
  Case c;
  Result result;
  result.after = {c.hidden, c.cell};
  result.rows = recurrence(c.gates, c.weight, c.steps, result.after, &result.before);
  auto sum = torch::zeros({});
  const torch::Tensor outputs[] = {result.rows, result.after.hidden, result.after.cell};
  for (size_t i = 0; i < 3; ++i)
    if (weights[i] != 0)
      sum = sum + weights[i] * (outputs[i] * torch::arange(1, kHidden + 1)).square().sum();
  sum.backward();
  for (const auto& leaf : {c.gates, c.weight, c.hidden, c.cell})
    result.gradients.push_back(leaf.grad());
  return result;
}

void expect_close(const torch::Tensor& a, const torch::Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-5 * b.abs().max().item<double>()))
      << (a - b).abs().max();
}

TEST(RecurrenceTest, OneOperationDoesAsManyDo) {
  const Result one = run(recur), many = run(recur_by_operations);
  expect_close(one.rows, many.rows);
  expect_close(one.after.hidden, many.after.hidden);
  expect_close(one.after.cell, many.after.cell);
  expect_close(one.before.hidden, many.before.hidden);
  expect_close(one.before.cell, many.before.cell);
}

TEST(RecurrenceTest, ItsGradientsAreThoseOfManyOperations) {
  for (const std::array<double, 3> weights :
       {std::array<double, 3>{1, 2, 3}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
    const Result one = run(recur, weights), many = run(recur_by_operations, weights);
    for (size_t i = 0; i < one.gradients.size(); ++i)
      expect_close(one.gradients[i], many.gradients[i]);
  }
}

TEST(RecurrenceTest, WhatNoRowIsAtStaysAndStatesBeforeAreThoseOfTheirStep) {
  const Case c;
  const Result result = run(recur);
  EXPECT_TRUE(torch::equal(result.before.hidden[0], c.hidden));
  EXPECT_TRUE(torch::equal(result.before.cell[0], c.cell));
  EXPECT_TRUE(torch::equal(result.before.hidden[1][4], result.rows[0]));
  EXPECT_TRUE(torch::equal(result.before.hidden[1][6], c.hidden[6]));
  EXPECT_TRUE(torch::equal(result.before.hidden[2][4], result.rows[4]));
  for (const int64_t place : {2, 3, 5}) {
    EXPECT_TRUE(torch::equal(result.after.hidden[place], c.hidden[place]));
    EXPECT_TRUE(torch::equal(result.after.cell[place], c.cell[place]));
  }
  EXPECT_TRUE(torch::equal(result.after.hidden[0], result.rows[5]));
  EXPECT_FALSE(result.before.hidden.requires_grad());
}

TEST(RecurrenceTest, StepsMustHoldAllRows) {
  Case c;
  RecurrentStates states{c.hidden, c.cell};
  EXPECT_THROW(recur(c.gates, c.weight, {c.steps.place, {2, 3}}, states), InternalError);
}

}  // namespace
}  // namespace reverie
