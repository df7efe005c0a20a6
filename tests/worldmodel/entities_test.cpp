#include <gmock/gmock.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "worldmodel/encoder/encoder.h"
#include "worldmodel/encoder/vae.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

ToyConfig blocks(int count) { return {.blocks = count, .start_states = 4, .entities = true}; }

EncoderConfig small_encoder(int blocks = 3) {
  EncoderConfig config;
  config.latent = 8;
  config.width = 16;
  config.blocks = blocks;
  return config;
}

std::shared_ptr<GraphEncoder> random_encoder(const EnvSpec& spec, const EncoderConfig& config) {
  torch::manual_seed(2);
  return std::make_shared<GraphEncoder>(config, spec);
}

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

/// However many blocks of messages there are.
TEST(EntityEncoder, AStepChangesTheEntityThatItLiesInAndAtMostItsNeighbours) {
  ToyEnvironment toy(blocks(7));
  for (const int depth : {1, 16}) {
    const auto encoder = random_encoder(toy.spec(), small_encoder(depth));
    for (const int primary : {ToyEnvironment::kEnlarge, ToyEnvironment::kSwap}) {
      toy.reset(3);
      std::vector<Observation> states = {toy.observe()};
      const Action action = toy.mask().choice(primary, toy.mask().total(primary) / 2);
      toy.step(action);
      states.push_back(toy.observe());
      const auto entities = encoder->encode(batch_observations(states, toy.spec())).entities;
      const auto change = (entities[1] - entities[0]).abs().amax(-1);
      for (int other = 0; other < 7; ++other) {
        if (std::abs(other - action.entity) <= 1) continue;
        EXPECT_LT(change[other].item<float>(), 1e-6) << other << " of " << action.entity;
      }
      EXPECT_GT(change[action.entity].item<float>(), 1e-4);
    }
  }
}

TEST(EntityEncoder, DoesNotDependOnTheBatch) {
  ToyEnvironment toy(blocks(4));
  const auto encoder = random_encoder(toy.spec(), small_encoder());
  std::vector<Observation> states;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    toy.reset(seed);
    states.push_back(toy.observe());
  }
  const Latents together = encoder->encode(batch_observations(states, toy.spec()));
  const std::vector<Observation> one = {states[2]};
  const Latents alone = encoder->encode(batch_observations(one, toy.spec()));
  EXPECT_TRUE(torch::allclose(alone.z[0], together.z[2], 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(alone.entities[0], together.entities[2], 1e-4, 1e-5));
  EXPECT_TRUE(torch::equal(alone.neighbours[0], together.neighbours[2]));
  EXPECT_FALSE(torch::allclose(together.z[1], together.z[2], 1e-3, 1e-4));
}

/// One block padded beside two, and its statistics.
TEST(EntityEncoder, PaddingHasLatentZeroAndZIsThePoolOfTheEntities) {
  ToyEnvironment one_block(blocks(1)), two_blocks(blocks(2));
  one_block.reset(0);
  two_blocks.reset(0);
  const auto encoder = random_encoder(one_block.spec(), small_encoder());
  const std::vector<Observation> both = {one_block.observe(), two_blocks.observe()};
  const auto batch = batch_observations(both, one_block.spec());
  ObservationStatistics statistics(one_block.spec());
  statistics.add(batch);
  EXPECT_EQ(statistics.usual_entities(), 1.5);
  const Latents latents = encoder->encode(batch);
  EXPECT_EQ(latents.entities[0][1].abs().max().item<float>(), 0);
  EXPECT_GT(latents.entities[0][0].abs().max().item<float>(), 0);
  const std::vector<Observation> one = {both[0]};
  const Latents alone = encoder->encode(batch_observations(one, one_block.spec()));
  EXPECT_TRUE(torch::allclose(alone.z[0], latents.z[0], 1e-4, 1e-5));

  Checkpoint checkpoint;
  encoder->store(checkpoint);
  EntityPool pool = load_entity_pool(checkpoint);
  EXPECT_TRUE(torch::equal(pool(latents.entities), latents.z));
  EXPECT_EQ(pool->part(latents.entities)[0][1].abs().max().item<float>(), 0);
  EXPECT_TRUE(torch::allclose(load_encoder(checkpoint)->encode(batch).z, latents.z));
}

/// Losses are the same when entities without nodes hold anything at all.
TEST(EntityDecoder, AsksNothingOfPadding) {
  ToyEnvironment one_block(blocks(1)), two_blocks(blocks(2));
  one_block.reset(0);
  two_blocks.reset(0);
  const EncoderConfig config = small_encoder();
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
