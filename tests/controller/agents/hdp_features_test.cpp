#include "controller/agents/hdp_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/controller/agents/toys.h"

namespace reverie::testing {
namespace {

constexpr int64_t kT = PlacedGroups::kTypes, kO = PlacedGroups::kOutputs;

std::vector<float> row_of(const torch::Tensor& rows, int64_t row, int64_t first, int64_t count) {
  const auto part = rows[row].slice(0, first, first + count).contiguous();
  return {part.data_ptr<float>(), part.data_ptr<float>() + count};
}

/// 0 -> {1, 2}, 1 -> 3, 2 -> 3, each 2^16 - 1 bytes: a size of 1/2.
PlacedGroups diamond() {
  const auto sends = [](int from, std::vector<int> readers) {
    return CostTensor{.producer = from, .bytes = 65535, .readers = std::move(readers)};
  };
  return PlacedGroups(graph_of({1, 1, 1, 1}, {sends(0, {1, 2}), sends(1, {3}), sends(2, {3})}), 10);
}

TEST(HdpFeatures, OperatorsKnowTheirNeighboursByPlace) {
  const auto rows = hdp_operators(diamond());
  ASSERT_EQ(rows.size(1), kT + kO + kHdpNeighbours);
  EXPECT_THAT(row_of(rows, 0, kT + kO, 3), ::testing::ElementsAre(0.5f, 0.75f, 0.0f));
  EXPECT_THAT(row_of(rows, 1, kT + kO, 3), ::testing::ElementsAre(-0.25f, 1.0f, 0.0f));
  EXPECT_THAT(row_of(rows, 3, kT + kO, 3), ::testing::ElementsAre(-0.5f, -0.75f, 0.0f));
}

TEST(HdpFeatures, NeighboursAreCutOff) {
  std::vector<int> readers;
  for (int node = 1; node < 30; ++node) readers.push_back(node);
  const auto rows = hdp_operators(PlacedGroups(
      graph_of(std::vector<int64_t>(30, 1), {{.producer = 0, .bytes = 1, .readers = readers}}),
      100));
  EXPECT_FLOAT_EQ(rows[0][-1].item<float>(), 21.0f / 30);
}

/// The published code adds the sums of shapes to the counts of the first types.
TEST(HdpFeatures, GroupsHaveTypesAndSizesInColumnsOfTheirOwn) {
  const PlacedGroups operators = diamond();
  const auto rows = hdp_groups(operators, torch::tensor({0, 0, 0, 2}, torch::kInt64), 3);
  ASSERT_EQ(rows.size(1), kT + kO + 2 * 3);
  EXPECT_FLOAT_EQ(rows[0].slice(0, 0, kT).sum().item<float>(), 3.0f / 4);  // 3: the largest
  EXPECT_FLOAT_EQ(rows[2].slice(0, 0, kT).sum().item<float>(), 1.0f / 3);  // 2 come from 0
  EXPECT_THAT(row_of(rows, 0, kT, kO), ::testing::ElementsAre(1.5f / 4, 0, 0, 0, 0));
  EXPECT_THAT(row_of(rows, 0, kT + kO, 6), ::testing::ElementsAre(0.5f, 0, 0.5f, 0.5f, 0, 0));
  EXPECT_THAT(row_of(rows, 2, kT + kO, 6),
              ::testing::ElementsAre(0, 0, 0, ::testing::FloatEq(2.0f / 3), 0, 0));
  EXPECT_EQ(rows[1].abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace reverie::testing
