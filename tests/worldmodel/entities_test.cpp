#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "worldmodel/encoder/vae.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

ToyConfig blocks(int count) { return {.blocks = count, .start_states = 4, .entities = true}; }

std::vector<int64_t> numbers(const torch::Tensor& tensor) {
  const auto flat = tensor.to(torch::kInt64).contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

/// Six entities, of which all others have edges with 0 alone; what a node of 0 makes is used in 2
/// and in 5.
Observation star() {
  Observation observation;
  GraphFeatures& graph = observation.graph;
  graph.node_types = {0, 0, 0, 0, 0, 0, 0};
  graph.node_entities = {1, 0, 0, 2, 3, 4, 5};
  const std::vector<std::pair<int, int>> edges = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {3, 1},
                                                  {4, 1}, {5, 2}, {6, 1}, {2, 6}, {2, 3}};
  for (const auto& [from, to] : edges) {
    graph.senders.push_back(from);
    graph.receivers.push_back(to);
  }
  observation.mask.entities = 6;
  observation.mask.counts = {1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0};
  observation.action_features = {4, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return observation;
}

/// One entity with a node and no edge.
Observation dot() {
  Observation observation;
  observation.graph.node_types = {0};
  observation.graph.node_entities = {0};
  observation.mask = ActionMask(2, 1);
  observation.action_features = {0, 0};
  return observation;
}

EnvSpec star_spec() {
  EnvSpec spec;
  spec.name = "star";
  spec.node_types = {"node"};
  spec.action_features = {"gain"};
  spec.actions = {"a", "NO-OP"};
  spec.max_choices = 3;
  return spec;
}

TEST(EntityBatch, NumbersEntitiesOfAllGraphsAndFindsTheirNeighbours) {
  const std::vector<Observation> two = {star(), star()};
  const auto batch = batch_observations(two, star_spec());
  const auto& graph = batch.graph;
  EXPECT_THAT(numbers(graph.node_entity), ElementsAre(1, 0, 0, 2, 3, 4, 5, 7, 6, 6, 8, 9, 10, 11));
  EXPECT_THAT(numbers(graph.node_index), ElementsAre(0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(numbers(graph.entity_sizes), ElementsAre(2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1));
  EXPECT_THAT(numbers(graph.neighbours[1]),
              ElementsAre(2, 3, 4, 5, 6, 1, 0, 0, 0, 0, 1, 6, 0, 0, 0, 1, 0, 0, 0, 0,  //
                          1, 0, 0, 0, 0, 1, 3, 0, 0, 0));
  EXPECT_THAT(numbers(batch.mask.by_entity[1][0]), ElementsAre(1, 0, 2, 0, 0, 0));
  EXPECT_THAT(numbers(batch.mask.totals[1]), ElementsAre(3, 1));
  EXPECT_EQ(batch.entity_features[1][2][0][0].item<float>(), 5);
  EXPECT_EQ(batch.entity_features[1][1][0][0].item<float>(), 0);
  EXPECT_EQ(batch.action_features[1][0][0].item<float>(), 5);
}

TEST(EntityBatch, PadsGraphsThatHaveFewer) {
  const std::vector<Observation> both = {dot(), star()};
  const auto batch = batch_observations(both, star_spec());
  const std::vector<Observation> one = {star()};
  const auto alone = batch_observations(one, star_spec());
  EXPECT_TRUE(torch::equal(batch.mask.by_entity[1], alone.mask.by_entity[0]));
  EXPECT_TRUE(torch::equal(batch.graph.neighbours[1], alone.graph.neighbours[0]));
  EXPECT_THAT(numbers(batch.mask.by_entity[0]), ElementsAre(0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0));
  EXPECT_EQ(batch.graph.neighbours[0].abs().max().item<int64_t>(), 0);
  EXPECT_THAT(numbers(batch.graph.entity_sizes.narrow(0, 0, 6)), ElementsAre(1, 0, 0, 0, 0, 0));
}

TEST(EntityBatch, RefusesWhatLiesInNoEntity) {
  std::vector<Observation> one = {star()};
  one[0].graph.node_entities[3] = 6;
  EXPECT_THROW(batch_observations(one, star_spec()), InputError);
  one[0].graph.node_entities.clear();
  EXPECT_THROW(batch_observations(one, star_spec()), InputError);
}

/// Losses are the same when entities without nodes hold anything at all.
TEST(EntityDecoder, AsksNothingOfPadding) {
  ToyEnvironment one_block(blocks(1)), two_blocks(blocks(2));
  one_block.reset(0);
  two_blocks.reset(0);
  const EncoderConfig config{.latent = 8, .width = 16};
  const std::vector<Observation> both = {one_block.observe(), two_blocks.observe()};
  const auto batch = batch_observations(both, one_block.spec());
  EntityDecoder decoder(config, one_block.spec());
  auto entities = torch::rand({2, 2, config.latent});
  const auto terms = [&] {
    LossTerms losses;
    decoder->add_losses(losses, entities, batch, torch::zeros({2, 2, 5}), VaeLossConfig{});
    return losses.terms;
  };
  const auto before = terms();
  ASSERT_GT(before.size(), 1u);
  entities = entities.clone();
  entities[0][1].fill_(0.9);
  const auto other_padding = terms();
  entities[1][0].fill_(0.9);
  const auto other = terms();
  for (size_t i = 0; i < before.size(); ++i) {
    const auto& [name, loss] = before[i];
    EXPECT_TRUE(torch::allclose(other_padding[i].second, loss)) << name;
    EXPECT_FALSE(torch::allclose(other[i].second, loss)) << name;
  }
}

}  // namespace
}  // namespace reverie
