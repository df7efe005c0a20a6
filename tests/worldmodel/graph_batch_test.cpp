#include "worldmodel/batch/graph_batch.h"

#include <gmock/gmock.h>

#include "core/base/error.h"

namespace reverie {
namespace {

EnvSpec small_spec() {
  EnvSpec spec;
  spec.name = "small";
  spec.node_types = {"a", "b", "c", "d"};
  spec.node_features = {"value", "number"};
  spec.edge_features = {"value"};
  spec.targets = {{"share", TargetLevel::kNode, TargetLoss::kShare},
                  {"value", TargetLevel::kGraph, TargetLoss::kRegression}};
  spec.action_features = {"value"};
  spec.actions = {"a", "NO-OP"};
  return spec;
}

Observation chain(int nodes, float value) {
  Observation observation;
  for (int i = 0; i < nodes; ++i) {
    observation.graph.node_types.push_back(i % 4);
    observation.graph.node_entities.push_back(0);
    observation.graph.nodes.insert(observation.graph.nodes.end(), {value, float(i)});
    observation.graph.node_targets.push_back(1.0f / nodes);
    if (i == 0) continue;
    observation.graph.senders.push_back(i - 1);
    observation.graph.receivers.push_back(i);
    observation.graph.edges.push_back(value);
  }
  observation.graph.graph_targets = {value};
  observation.mask.counts = {static_cast<uint16_t>(nodes), 1};
  observation.action_features = {value, 0};
  return observation;
}

TEST(GraphBatch, OffsetsEdgesAndKeepsOrder) {
  const std::vector<Observation> observations = {chain(3, 1), chain(2, 2)};
  const auto batch = batch_observations(observations, small_spec());
  const auto& graph = batch.graph;
  EXPECT_EQ(graph.graphs(), 2);
  EXPECT_TRUE(torch::equal(graph.senders, torch::tensor({0L, 1L, 3L})));
  EXPECT_TRUE(torch::equal(graph.receivers, torch::tensor({1L, 2L, 4L})));
  EXPECT_TRUE(torch::equal(graph.node_graph, torch::tensor({0L, 0L, 0L, 1L, 1L})));
  EXPECT_TRUE(torch::equal(graph.edge_graph, torch::tensor({0L, 0L, 1L})));
  EXPECT_TRUE(torch::equal(graph.node_index, torch::tensor({0L, 1L, 2L, 0L, 1L})));
  EXPECT_TRUE(torch::equal(graph.node_counts, torch::tensor({3.0f, 2.0f})));
  EXPECT_TRUE(torch::equal(graph.nodes[3], torch::tensor({2.0f, 0.0f})));
  EXPECT_TRUE(torch::equal(batch.mask.totals, torch::tensor({3L, 1L, 2L, 1L}).view({2, 2})));
  EXPECT_FLOAT_EQ(batch.action_features[1][0][0].item<float>(), 2);
}

TEST(GraphBatch, TakesAGraphWithoutEdges) {
  const std::vector<Observation> observations = {chain(1, 1)};
  EXPECT_EQ(batch_observations(observations, small_spec()).graph.edge_total(), 0);
}

TEST(GraphBatch, RefusesWrongWidths) {
  std::vector<Observation> observations = {chain(2, 1)};
  observations[0].graph.nodes.pop_back();
  EXPECT_THROW(batch_observations(observations, small_spec()), InputError);
  observations = {chain(2, 1)};
  observations[0].graph.senders[0] = 2;
  EXPECT_THROW(batch_observations(observations, small_spec()), InputError);
}

}  // namespace
}  // namespace reverie
