#include "worldmodel/network/graph_sage.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

/// 1 reads of 0 twice, 2 of nothing.
NeighbourRows inputs() { return {torch::tensor({0, 0}), torch::tensor({0, 2, 0})}; }

TEST(GraphSage, NeighboursSayTheLargestAndTheSumWithWhatTheirEdgesAdd) {
  const auto rows = torch::tensor({{-2.0f, 3.0f}, {9.0f, 9.0f}, {9.0f, 9.0f}});
  EXPECT_TRUE(
      largest(inputs(), rows).equal(torch::tensor({{0.0f, 0.0f}, {0.0f, 3.0f}, {0.0f, 0.0f}})));
  NeighbourRows with_edges = inputs();
  with_edges.edges = torch::tensor({{0.0f, 0.0f}, {5.0f, -1.0f}});
  EXPECT_TRUE(
      largest(with_edges, rows).equal(torch::tensor({{0.0f, 0.0f}, {3.0f, 3.0f}, {0.0f, 0.0f}})));
  EXPECT_TRUE(
      sum(with_edges, rows).equal(torch::tensor({{0.0f, 0.0f}, {1.0f, 5.0f}, {0.0f, 0.0f}})));
}

TEST(GraphSage, ALayerReadsInputsAndOutputsApartAndNoFurther) {
  torch::manual_seed(1);
  GraphSage sage(8, 2);
  const NeighbourRows outputs{torch::tensor({1, 1}), torch::tensor({2, 0, 0})};
  auto states = torch::rand({3, 8});
  const auto before = sage->layer(1, states, inputs(), outputs);
  EXPECT_EQ(before.sizes(), (std::vector<int64_t>{3, 8}));
  EXPECT_FALSE(before.allclose(sage->layer(1, states, outputs, inputs())));
  states = states.clone();
  states[0] += 1;
  const auto change = (sage->layer(1, states, inputs(), outputs) - before).abs().amax(1);
  EXPECT_GT(change[0].item<float>(), 1e-3);
  EXPECT_GT(change[1].item<float>(), 1e-3);
  EXPECT_EQ(change[2].item<float>(), 0);
}

}  // namespace
}  // namespace reverie
