#include <gmock/gmock.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "worldmodel/encoder.h"
#include "worldmodel/vae.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

ToyConfig blocks(int count) { return {.blocks = count, .start_states = 4, .regions = true}; }

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

/// Six regions, of which all others have edges with 0 alone; what a node of 0 makes is used in 2 and in 5.
Observation star() {
  Observation observation;
  GraphFeatures& graph = observation.graph;
  graph.node_types = {0, 0, 0, 0, 0, 0, 0};
  graph.node_regions = {1, 0, 0, 2, 3, 4, 5};
  const std::vector<std::pair<int, int>> edges = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {3, 1},
                                                  {4, 1}, {5, 2}, {6, 1}, {2, 6}, {2, 3}};
  for (const auto& [from, to] : edges) {
    graph.senders.push_back(from);
    graph.receivers.push_back(to);
  }
  observation.mask = {{3, 1}, {}, {1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0}};
  observation.action_features = {5, 0};
  observation.region_features = {4, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return observation;
}

EnvSpec star_spec() {
  EnvSpec spec;
  spec.name = "star";
  spec.node_types = 1;
  spec.action_features = 1;
  spec.actions = {"a", "NO-OP"};
  spec.max_secondary = 3;
  spec.regions = 6;
  return spec;
}

TEST(RegionBatch, NumbersRegionsOfAllGraphsAndFindsTheirNeighbours) {
  const std::vector<Observation> two = {star(), star()};
  const auto batch = batch_observations(two, star_spec());
  const auto& graph = batch.graph;
  EXPECT_THAT(numbers(graph.node_region), ElementsAre(1, 0, 0, 2, 3, 4, 5, 7, 6, 6, 8, 9, 10, 11));
  EXPECT_THAT(numbers(graph.node_index), ElementsAre(0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(numbers(graph.region_sizes), ElementsAre(2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1));
  EXPECT_THAT(numbers(graph.neighbours[1]), ElementsAre(0b111110, 0b000001, 0b100001, 0b000001, 0b000001, 0b000101));
  EXPECT_THAT(numbers(batch.mask.regions[1][0]), ElementsAre(1, 0, 2, 0, 0, 0));
  EXPECT_EQ(batch.region_features[1][2][0][0].item<float>(), 5);
  EXPECT_EQ(batch.region_features[1][1][0][0].item<float>(), 0);
}

TEST(RegionBatch, RefusesWhatLiesInNoRegion) {
  std::vector<Observation> one = {star()};
  one[0].graph.node_regions[3] = 6;
  EXPECT_THROW(batch_observations(one, star_spec()), InputError);
  one[0].graph.node_regions.clear();
  EXPECT_THROW(batch_observations(one, star_spec()), InputError);
}

/// However many blocks of messages there are.
TEST(RegionEncoder, AStepChangesTheRegionThatItLiesInAndAtMostItsNeighbours) {
  ToyEnvironment toy(blocks(7));
  for (const int depth : {1, 16}) {
    const auto encoder = random_encoder(toy.spec(), small_encoder(depth));
    for (const int primary : {ToyEnvironment::kEnlarge, ToyEnvironment::kSwap}) {
      toy.reset(3);
      std::vector<Observation> states = {toy.observe()};
      const int secondary = toy.mask().counts[primary] / 2;
      const int region = region_choice(states[0].mask, primary, secondary, 7).region;
      toy.step({primary, secondary});
      states.push_back(toy.observe());
      const auto regions = encoder->encode(batch_observations(states, toy.spec())).regions;
      const auto change = (regions[1] - regions[0]).abs().amax(-1);
      for (int other = 0; other < 7; ++other) {
        if (std::abs(other - region) <= 1) continue;
        EXPECT_LT(change[other].item<float>(), 1e-6) << other << " of " << region;
      }
      EXPECT_GT(change[region].item<float>(), 1e-4);
    }
  }
}

TEST(RegionEncoder, DoesNotDependOnTheBatch) {
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
  EXPECT_TRUE(torch::allclose(alone.regions[0], together.regions[2], 1e-4, 1e-5));
  EXPECT_TRUE(torch::equal(alone.neighbours[0], together.neighbours[2]));
  EXPECT_FALSE(torch::allclose(together.z[1], together.z[2], 1e-3, 1e-4));
}

TEST(RegionEncoder, AnEmptyRegionHasLatentZeroAndZIsThePoolOfTheRegions) {
  ToyEnvironment toy(blocks(1));
  toy.reset(0);
  const auto encoder = random_encoder(toy.spec(), small_encoder());
  const std::vector<Observation> one = {toy.observe()};
  const auto batch = batch_observations(one, toy.spec());
  ObservationStatistics statistics(toy.spec());
  statistics.add(batch);
  EXPECT_EQ(statistics.usual_regions(), 1);
  const Latents latents = encoder->encode(batch);
  EXPECT_EQ(latents.regions[0][1].abs().max().item<float>(), 0);
  EXPECT_GT(latents.regions[0][0].abs().max().item<float>(), 0);

  Checkpoint checkpoint;
  encoder->store(checkpoint);
  RegionPool pool = load_region_pool(checkpoint);
  EXPECT_TRUE(torch::equal(pool(latents.regions), latents.z));
  EXPECT_EQ(pool->part(latents.regions)[0][1].abs().max().item<float>(), 0);
  EXPECT_TRUE(torch::allclose(load_encoder(checkpoint)->encode(batch).z, latents.z));
}

TEST(RegionEncoder, AFlatEncoderHasNoPool) {
  ToyEnvironment toy(ToyConfig{2, 4, 12});
  Checkpoint checkpoint;
  random_encoder(toy.spec(), small_encoder())->store(checkpoint);
  EXPECT_THROW(load_region_pool(checkpoint), InputError);
}

/// Losses are the same when regions without nodes hold anything at all.
TEST(RegionDecoder, AsksNothingOfEmptyRegions) {
  ToyEnvironment toy(blocks(1));
  toy.reset(0);
  const EncoderConfig config = small_encoder();
  const std::vector<Observation> one = {toy.observe()};
  const auto batch = batch_observations(one, toy.spec());
  RegionDecoder decoder(config, toy.spec());
  auto regions = torch::rand({1, 2, config.latent});
  const auto terms = [&] {
    LossTerms losses;
    decoder->add_losses(losses, regions, batch, torch::zeros({1, 2, 5}), VaeLossConfig{});
    return losses.terms;
  };
  const auto before = terms();
  ASSERT_GT(before.size(), 1u);
  regions = regions.clone();
  regions[0][1].fill_(0.9);
  const auto other_empty = terms();
  regions[0][0].fill_(0.9);
  const auto other = terms();
  for (size_t i = 0; i < before.size(); ++i) {
    const auto& [name, loss] = before[i];
    EXPECT_TRUE(torch::allclose(other_empty[i].second, loss)) << name;
    // The one region that is there has all of the cost, whatever its latent.
    EXPECT_EQ(torch::allclose(other[i].second, loss), name == "region_shares") << name;
  }
}

}  // namespace
}  // namespace reverie
