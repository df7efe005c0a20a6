#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "worldmodel/encoder/entity_latents.h"
#include "worldmodel/encoder/graph_encoder.h"

namespace reverie {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ToyConfig row_of_blocks(int count) {
  return {.blocks = count, .start_states = 4, .entities = true};
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const RegisteredEncoder& encoder : registered_encoders()) names.emplace_back(encoder.name);
  return names;
}

/// What holds for every kind of V, here by small networks with random weights.
class EncoderConformance : public ::testing::TestWithParam<std::string> {
 protected:
  static EncoderConfig config(int depth = 3) {
    return {.kind = encoder_kind(GetParam()), .latent = 8, .width = 16, .blocks = depth};
  }
  static std::shared_ptr<GraphEncoder> encoder(const EnvSpec& spec, int depth = 3) {
    torch::manual_seed(2);
    return make_encoder(config(depth), spec);
  }
  static Latents encoded(Encoder& encoder, const std::vector<Observation>& states) {
    return encoder.encode(batch_observations(states, encoder.spec()));
  }
  /// The first of four starts.
  static std::vector<Observation> starts(ToyEnvironment& toy, uint64_t count = 4) {
    std::vector<Observation> states;
    for (uint64_t seed = 0; seed < count; ++seed) {
      toy.reset(seed);
      states.push_back(toy.observe());
    }
    return states;
  }
};

/// However many layers pass messages. Through 16 random ones that have no residual connection
/// little of a change is left, so that what is seen of it is asked of few.
TEST_P(EncoderConformance, AStepChangesTheEntityThatItLiesInAndItsNeighboursAlone) {
  ToyEnvironment toy(row_of_blocks(7));
  for (const int depth : {1, 16}) {
    const auto v = encoder(toy.spec(), depth);
    for (const int primary : {ToyEnvironment::kEnlarge, ToyEnvironment::kSwap}) {
      toy.reset(3);
      std::vector<Observation> states = {toy.observe()};
      const Action action = toy.mask().choice(primary, toy.mask().total(primary) / 2);
      toy.step(action);
      states.push_back(toy.observe());
      const auto entities = encoded(*v, states).entities;
      const auto change = (entities[1] - entities[0]).abs().amax(-1);
      float beside = 0;
      for (int other = 0; other < 7; ++other) {
        const auto of_other = change[other].item<float>();
        if (other == action.entity) continue;
        if (std::abs(other - action.entity) == 1) {
          beside = std::max(beside, of_other);
        } else {
          EXPECT_LT(of_other, 1e-6) << other << " of " << action.entity;
        }
      }
      if (depth == 1) {
        EXPECT_GT(change[action.entity].item<float>(), 1e-4);
        EXPECT_GT(beside, 1e-6);
      }
    }
  }
}

TEST_P(EncoderConformance, DoesNotDependOnTheBatch) {
  ToyEnvironment toy(row_of_blocks(4));
  const auto v = encoder(toy.spec());
  const auto states = starts(toy);
  const Latents together = encoded(*v, states), alone = encoded(*v, {states[2]});
  EXPECT_TRUE(torch::allclose(alone.z[0], together.z[2], 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(alone.entities[0], together.entities[2], 1e-4, 1e-5));
  EXPECT_TRUE(torch::equal(alone.neighbours[0], together.neighbours[2]));
  EXPECT_FALSE(torch::allclose(together.z[1], together.z[2], 1e-3, 1e-4));
  EXPECT_LT(together.entities.abs().max().item<float>(), 1);
  EXPECT_LT(together.z.abs().max().item<float>(), 1);
}

/// An episode of the toy, and with it what its states share.
std::vector<Observation> walk(ToyEnvironment& toy, uint64_t seed, int steps) {
  Rng rng(seed);
  toy.reset(seed);
  std::vector<Observation> states = {toy.observe()};
  for (int step = 0; step < steps; ++step) {
    const ActionMask mask = toy.mask();
    const int primary = rng.below(2) == 0 ? ToyEnvironment::kEnlarge : ToyEnvironment::kSwap;
    if (mask.total(primary) == 0) break;
    toy.step(mask.choice(primary, static_cast<int>(rng.below(mask.total(primary)))));
    states.push_back(toy.observe());
  }
  return states;
}

TEST_P(EncoderConformance, EntitiesThatStayAreEncodedOnce) {
  ToyEnvironment toy(row_of_blocks(12));
  const auto v = encoder(toy.spec());
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EntityLatents latents(*v);
    int64_t entities = 0;
    for (const Observation& state : walk(toy, seed, 12)) {
      const Observation* one[] = {&state};
      const Latents shared = latents.encode(one), whole = v->encode(one);
      EXPECT_TRUE(torch::allclose(shared.entities, whole.entities, 1e-4, 1e-5));
      EXPECT_TRUE(torch::allclose(shared.z, whole.z, 1e-4, 1e-5));
      EXPECT_TRUE(torch::equal(shared.neighbours, whole.neighbours));
      entities += state.mask.entities;
    }
    EXPECT_LT(latents.encoded(), entities / 2);
    EXPECT_GT(latents.encoded(), 12);
  }
}

TEST_P(EncoderConformance, StatesOfSeveralSizesShareEntities) {
  ToyEnvironment small(row_of_blocks(2)), large(row_of_blocks(9));
  const auto v = encoder(small.spec());
  std::vector<Observation> states = walk(small, 1, 4);
  std::ranges::move(walk(large, 2, 4), std::back_inserter(states));
  std::vector<const Observation*> all;
  for (const Observation& state : states) all.push_back(&state);
  EntityLatents latents(*v);
  for (int again = 0; again < 2; ++again) {
    const Latents shared = latents.encode(all), whole = v->encode(all);
    EXPECT_TRUE(torch::allclose(shared.entities, whole.entities, 1e-4, 1e-5));
    EXPECT_TRUE(torch::equal(shared.neighbours, whole.neighbours));
  }
  const int64_t encoded = latents.encoded();
  latents.encode(all);
  EXPECT_EQ(latents.encoded(), encoded);
  latents.clear();
  latents.encode(all);
  EXPECT_EQ(latents.encoded(), 2 * encoded);
}

TEST_P(EncoderConformance, WhatIsNoObservationIsRefusedBeforeItIsLookedAt) {
  ToyEnvironment toy(row_of_blocks(2));
  const auto v = encoder(toy.spec());
  Observation state = starts(toy, 1)[0];
  state.graph.node_entities.back() = 1 << 30;
  const Observation* one[] = {&state};
  EXPECT_THROW(EntityLatents(*v).encode(one), InputError);
}

/// V sees a graph, not an array.
TEST_P(EncoderConformance, DoesNotDependOnTheOrderOfNodesAndEdges) {
  ToyEnvironment toy(row_of_blocks(3));
  const auto v = encoder(toy.spec());
  const std::vector<Observation> states = starts(toy, 3);
  Observation turned = states[2];
  GraphFeatures& graph = turned.graph;
  const auto width = toy.spec().node_features.size();
  const auto shares = static_cast<size_t>(toy.spec().target_count(TargetLevel::kNode));
  const auto turn = [](auto& values, size_t columns) {
    auto before = values;
    const size_t rows = values.size() / std::max<size_t>(columns, 1);
    for (size_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < columns; ++i)
        values[row * columns + i] = before[(rows - 1 - row) * columns + i];
  };
  turn(graph.node_types, 1);
  turn(graph.node_entities, 1);
  turn(graph.nodes, width);
  turn(graph.node_targets, shares);
  turn(graph.senders, 1);
  turn(graph.receivers, 1);
  turn(graph.edges, toy.spec().edge_features.size());
  for (auto* ends : {&graph.senders, &graph.receivers})
    for (auto& end : *ends) end = graph.node_count() - 1 - end;
  const Latents both = encoded(*v, {states[2], turned});
  EXPECT_TRUE(torch::allclose(both.z[0], both.z[1], 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(both.entities[0], both.entities[1], 1e-4, 1e-5));
}

TEST_P(EncoderConformance, SeesWhereEdgesLead) {
  ToyEnvironment toy(row_of_blocks(3));
  const auto v = encoder(toy.spec());
  std::vector<Observation> states = starts(toy, 1);
  states.push_back(states[0]);
  std::swap(states[1].graph.senders, states[1].graph.receivers);
  const auto entities = encoded(*v, states).entities;
  EXPECT_GT((entities[1] - entities[0]).abs().amax(-1).min().item<float>(), 1e-6);
}

/// One block padded beside two, and its statistics.
TEST_P(EncoderConformance, PaddingHasLatentZeroAndZIsThePoolOfTheEntities) {
  ToyEnvironment one_block(row_of_blocks(1)), two_blocks(row_of_blocks(2));
  const auto v = encoder(one_block.spec());
  const std::vector<Observation> both = {starts(one_block, 1)[0], starts(two_blocks, 1)[0]};
  const auto batch = batch_observations(both, one_block.spec());
  ObservationStatistics statistics(one_block.spec());
  statistics.add(batch);
  EXPECT_EQ(statistics.usual_entities(), 1.5);
  v->set_statistics(statistics);
  const Latents latents = v->encode(batch);
  EXPECT_EQ(latents.entities[0][1].abs().max().item<float>(), 0);
  EXPECT_GT(latents.entities[0][0].abs().max().item<float>(), 0);
  EXPECT_TRUE(torch::allclose(encoded(*v, {both[0]}).z[0], latents.z[0], 1e-4, 1e-5));

  Checkpoint checkpoint;
  v->store(checkpoint);
  EntityPool pool = load_entity_pool(checkpoint);
  EXPECT_TRUE(torch::equal(pool(latents.entities), latents.z));
  EXPECT_EQ(pool->part(latents.entities)[0][1].abs().max().item<float>(), 0);
}

TEST_P(EncoderConformance, ACheckpointGivesTheSameKindBack) {
  ToyEnvironment toy(row_of_blocks(3));
  const auto v = encoder(toy.spec());
  Checkpoint checkpoint;
  v->store(checkpoint);
  EXPECT_THAT(checkpoint.configs.at("encoder"), HasSubstr("kind: " + GetParam() + "\n"));
  torch::manual_seed(9);
  const auto again = load_encoder(checkpoint);
  const auto states = starts(toy);
  EXPECT_TRUE(torch::equal(encoded(*again, states).entities, encoded(*v, states).entities));
  checkpoint.tensors.erase(checkpoint.tensors.begin());
  EXPECT_THROW(load_encoder(checkpoint), InputError);
}

INSTANTIATE_TEST_SUITE_P(All, EncoderConformance, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param; });

TEST(EncoderKinds, AreNamedInOrder) {
  EXPECT_THAT(kinds(), ::testing::ElementsAre("gn", "go", "random"));
}

TEST(EncoderKinds, AnUnknownOneIsRefusedWithTheList) {
  const auto names = AllOf(HasSubstr("gn"), HasSubstr("go"), HasSubstr("random"));
  EXPECT_THAT([] { encoder_kind("lstm"); }, ::testing::ThrowsMessage<InputError>(names));
  EncoderConfig config;
  EXPECT_THAT([&] { ConfigFields(config).set("kind=lstm"); },
              ::testing::ThrowsMessage<InputError>(names));
}

TEST(EncoderKinds, OlderFilesCallGnVariational) {
  EncoderConfig config;
  ConfigFields(config).set("kind=go");
  ConfigFields(config).load_text("kind: variational\n", "an older file");
  EXPECT_EQ(config.kind, encoder_kind("gn"));
  EXPECT_THAT(dump_config(config), HasSubstr("kind: gn\n"));
}

}  // namespace
}  // namespace reverie
