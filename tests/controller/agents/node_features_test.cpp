#include "controller/agents/node_features.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

/// Nodes 2 and 0 read of 1, node 0 of 2 as well; 1 and 2 are a group.
CostGraph triangle() {
  std::vector<CostNode> nodes(3, {.name = "n", .op = "task"});
  nodes[0].op = "Relu";
  nodes[1].group = nodes[2].group = 5;
  nodes[1].persistent_bytes = 60;
  return CostGraph("triangle", {"a", "b"}, nodes, {{2}, {4}, {2}, {4}, {0}, {0}},
                   {{.producer = 1, .bytes = 10, .transfer = {8}, .readers = {0, 2}},
                    {.producer = 2, .bytes = 20, .transfer = {4}, .readers = {0}}});
}

Topology two_kinds() {
  Topology topology = ideal_devices(2, "a");
  topology.devices[1].kind = "b";
  topology.devices[1].memory_bytes = 30;
  return topology;
}

TEST(NodeFeatures, RowsAreInTopologicalOrder) {
  const CostGraph graph = triangle();
  const Topology topology = two_kinds();
  const NodeFeatures features(Simulator(graph, topology));
  ASSERT_EQ(features.values.sizes(), (std::vector<int64_t>{3, node_columns(2)}));
  EXPECT_TRUE(features.inputs.count.equal(torch::tensor({0, 1, 2})));
  EXPECT_TRUE(features.inputs.rows.equal(torch::tensor({0, 0, 1})));
  EXPECT_TRUE(features.outputs.count.equal(torch::tensor({2, 1, 0})));
  EXPECT_TRUE(features.operators[0].equal(features.operators[1]));
  EXPECT_FALSE(features.operators[0].equal(features.operators[2]));
  EXPECT_TRUE(features.entity.equal(torch::tensor({1, 1, 0})));
}

TEST(NodeFeatures, ColumnsAreComparedWithinTheGraph) {
  const CostGraph graph = triangle();
  const Topology topology = two_kinds();
  const NodeFeatures features(Simulator(graph, topology));
  // Times 2 and 4, 0, 2 and 4 of a mean of 2, by row: 1, 2, 0.
  const auto times = torch::tensor({{1.f, 2.f}, {0.f, 0.f}, {1.f, 2.f}}).log1p();
  const auto expected = (times - times.mean()) / times.std(false);
  EXPECT_TRUE(features.values.slice(1, 0, 2).allclose(expected, 1e-4, 1e-5)) << features.values;
  const auto standard = features.values.slice(1, 2, 4);
  EXPECT_TRUE(standard.mean(0).allclose(torch::zeros({2}), 0, 1e-5));
  EXPECT_TRUE(standard.square().mean(0).allclose(torch::ones({2}), 0, 1e-4));
  // Transfers written take 12 where nodes take 6; the devices hold all and 30 of 91 bytes.
  EXPECT_NEAR(features.values[0][4].item<float>(), std::log10(13.0 / 7) / 3, 1e-6);
  EXPECT_TRUE(features.values.slice(1, 13).allclose(torch::tensor({1.f, 30.f / 91})));
}

TEST(NodeFeatures, EntitiesAreTheMeansOfTheirNodes) {
  const CostGraph graph = triangle();
  const Topology topology = two_kinds();
  const NodeFeatures features(Simulator(graph, topology));
  const auto rows = torch::tensor({{2.f}, {4.f}, {9.f}});
  EXPECT_TRUE(features.mean_of_entities(rows).equal(torch::tensor({{9.f}, {3.f}})));
  EXPECT_TRUE(
      features.of_nodes(torch::tensor({{9.f}, {3.f}})).equal(torch::tensor({{3.f}, {3.f}, {9.f}})));
}

TEST(NodeFeatures, NeighboursAreReducedWithGradients) {
  const CostGraph graph = triangle();
  const Topology topology = two_kinds();
  const NodeFeatures features(Simulator(graph, topology));
  const auto rows = torch::tensor({{2.f}, {4.f}, {9.f}}).set_requires_grad(true);
  const auto most = largest(features.inputs, rows), all = sum(features.inputs, rows);
  EXPECT_TRUE(most.equal(torch::tensor({{0.f}, {2.f}, {4.f}})));
  EXPECT_TRUE(all.equal(torch::tensor({{0.f}, {2.f}, {6.f}})));
  most.sum().backward();
  EXPECT_TRUE(rows.grad().equal(torch::tensor({{1.f}, {1.f}, {0.f}})));
  rows.mutable_grad().zero_();
  all.sum().backward();
  EXPECT_TRUE(rows.grad().equal(torch::tensor({{2.f}, {1.f}, {0.f}})));
}

}  // namespace
}  // namespace reverie
