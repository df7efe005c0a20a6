#include <gtest/gtest.h>

#include <vector>

#include "worldmodel/encoder/graph_encoder.h"

namespace reverie {
namespace {

EnvSpec spec_of_two_types() {
  EnvSpec spec;
  spec.name = "fork";
  spec.node_types = {"a", "b"};
  spec.node_features = {"size"};
  spec.edge_features = {"bytes"};
  spec.action_features = {"gain"};
  spec.actions = {"NO-OP"};
  spec.max_choices = 1;
  return spec;
}

/// What node 0 makes is used in 1 and in 2, and what 2 makes in 3; each node is an entity.
Observation fork(int32_t type_of_first_reader) {
  Observation observation;
  GraphFeatures& graph = observation.graph;
  graph.node_types = {0, type_of_first_reader, 0, 0};
  graph.node_entities = {0, 1, 2, 3};
  graph.nodes = {1, 1, 1, 1};
  graph.edges = {1, 1, 1};
  graph.senders = {0, 0, 2};
  graph.receivers = {1, 2, 3};
  observation.mask = ActionMask(1, 4);
  observation.mask.counts = {1, 0, 0, 0};
  observation.action_features = {0, 0, 0, 0};
  return observation;
}

TEST(GoEncoder, AttentionReachesNeighboursThatNoEdgeJoins) {
  torch::manual_seed(1);
  const EncoderConfig config{.kind = encoder_kind("go"), .latent = 8, .width = 16};
  const auto v = make_encoder(config, spec_of_two_types());
  const std::vector<Observation> states = {fork(0), fork(1)};
  const auto entities = v->encode(batch_observations(states, v->spec())).entities;
  const auto change = (entities[1] - entities[0]).abs().amax(-1);
  for (const int entity : {0, 1, 2}) EXPECT_GT(change[entity].item<float>(), 1e-6) << entity;
  EXPECT_EQ(change[3].item<float>(), 0);
}

/// Heads divide the width, whatever it is.
TEST(GoEncoder, AnyWidthWill) {
  for (const int width : {1, 6, 9}) {
    const EncoderConfig config{.kind = encoder_kind("go"), .latent = 2, .width = width};
    const auto v = make_encoder(config, spec_of_two_types());
    const std::vector<Observation> states = {fork(0)};
    EXPECT_EQ(v->encode(batch_observations(states, v->spec())).entities.sizes(),
              (std::vector<int64_t>{1, 4, 2}));
  }
}

}  // namespace
}  // namespace reverie
