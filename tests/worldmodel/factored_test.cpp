#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "env/toy/toy_environment.h"
#include "tests/support/block_encoder.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "tests/worldmodel/latent_conformance.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/latent/dream.h"
#include "worldmodel/latent/live.h"
#include "worldmodel/memory/train_mdnrnn.h"

namespace reverie {
namespace {

constexpr int64_t kBlocks = 5;

/// The toy with an entity a block, episodes of it, V, and how M is trained on them in seconds.
class Factored : public ::testing::Test {
 protected:
  Factored()
      : toy(ToyConfig{.blocks = kBlocks, .start_states = 64, .horizon = 20, .entities = true}),
        data(testing::random_episodes(toy, 160, 1)),
        encoder(data.spec(), kBlocks),
        episodes(data, encode_states(data, encoder)) {
    torch::set_num_threads(1);
    config.model.hidden = 32;
    config.model.mixtures = 3;
    config.loss.unroll_steps = 4;
    config.loss.unroll_starts = 32;
    config.minibatch_episodes = 8;
    config.growth_epochs = 3;
    config.fit.epochs = 40;
    config.fit.learning_rate = 6e-3;
  }

  std::shared_ptr<WorldModel> train(const TemporaryDirectory& directory) {
    train_mdnrnn(episodes, encoder, config, 5, directory.path(), false, torch::kCPU, {});
    return load_world_model(load_checkpoint(directory / "world.pt", "world"));
  }

  /// With random weights, apart from the preference for counts to stay as they are.
  std::shared_ptr<MdnWorldModel> untrained(double same_counts = 0, uint64_t seed = 3) {
    Checkpoint checkpoint;
    encoder.store(checkpoint);
    LatentSpec spec;
    spec.latent = encoder.latent();
    spec.hidden = config.model.hidden;
    spec.env = data.spec();
    const EntityPool pool = load_entity_pool(checkpoint);
    torch::manual_seed(seed);
    const MdnRnn network(config.model, spec, pool);
    torch::NoGradGuard guard;
    network->same_counts.fill_(same_counts);
    return std::make_shared<MdnWorldModel>(network);
  }

  StartStates starts(WorldModel& world, const StartChoice& choice = {}) {
    return collect_starts(episodes, data.episodes_in(Split::kTrain), world, choice);
  }

  ToyEnvironment toy;
  MemoryEpisodes data;
  testing::BlockEncoder encoder;
  LatentEpisodes episodes;
  TrainMdnRnnConfig config;
  TemporaryDirectory first;
};

/// Whether entity s of a trajectory is the one acted in or next to it.
bool touched(int64_t s, int64_t acted) { return std::abs(s - acted) <= 1; }

TEST_F(Factored, AStepChangesTheEntityActedInAndItsNeighboursAndNothingElse) {
  const auto world = untrained();
  const StartStates from = starts(*world);
  const LatentState before = from.state;
  LatentState after = before, advanced = before;
  const WorldPrediction next = world->step(after, from.mask, from.actions, 1, make_generator(1));
  world->advance(advanced, from.mask, from.actions);
  EXPECT_TRUE(torch::equal(advanced.hidden, after.hidden));
  EXPECT_TRUE(torch::equal(advanced.cell, after.cell));
  EXPECT_TRUE(torch::equal(next.latents.neighbours, before.latents.neighbours));
  EXPECT_TRUE(torch::equal(next.mask.by_entity.sum(-1), next.mask.totals));
  const auto& entity = from.actions.entity;
  std::vector<int64_t> seen(kBlocks);
  for (int64_t b = 0; b < from.size(); ++b) {
    ++seen[entity[b].item<int64_t>()];
    for (int64_t s = 0; s < kBlocks; ++s) {
      const bool carried = !touched(s, entity[b].item<int64_t>());
      const auto same = [&](const torch::Tensor& x, const torch::Tensor& y) {
        return torch::equal(x[b][s], y[b][s]);
      };
      ASSERT_EQ(same(before.hidden, after.hidden), carried);
      ASSERT_EQ(same(before.cell, after.cell), carried);
      ASSERT_EQ(same(before.latents.entities, next.latents.entities), carried);
      const bool same_mask =
          same(from.mask.by_entity.transpose(1, 2), next.mask.by_entity.transpose(1, 2));
      ASSERT_TRUE(same_mask || !carried);
    }
  }
  EXPECT_THAT(seen, ::testing::Each(::testing::Gt(5)));
  EXPECT_FALSE(torch::equal(from.mask.by_entity, next.mask.by_entity));
  EXPECT_FALSE(torch::equal(before.latents.z, next.latents.z));
}

/// Latents::neighbours of one state of `entities`: of each entity named its neighbours, ascending.
torch::Tensor near(int64_t entities, const std::map<int64_t, std::vector<int>>& lists) {
  auto all = torch::zeros({entities, 4}, torch::kInt32);
  for (const auto& [entity, list] : lists)
    for (size_t i = 0; i < list.size(); ++i) all[entity][static_cast<int64_t>(i)] = list[i] + 1;
  return all;
}

TEST(Rows, AreTheEntitiesActedInAndThenTheirNeighbours) {
  const auto neighbours =
      torch::stack({near(2000, {{5, {3, 1999}}, {6, {0, 1, 2, 3}}}), near(2000, {{1999, {0}}})});
  const Rows rows(torch::tensor({5L, 1999L}), neighbours);
  const auto places = torch::arange(4000).view({2, 2000});
  EXPECT_TRUE(torch::equal(rows.take(places), torch::tensor({5L, 3999L, 3L, 1999L, 2000L})));
  EXPECT_TRUE(torch::equal(rows.acted(), torch::tensor({1.0f, 1.0f, 0.0f, 0.0f, 0.0f})));
}

TEST(Rows, RelationsTellHowFarAnIndexReachesIntoTheNeighbours) {
  const auto neighbours = torch::stack({near(6, {{2, {0, 1, 4, 5}}}), near(6, {{0, {2, 3}}})});
  const Rows rows(torch::tensor({2L, 0L}), neighbours);
  const auto choices = torch::tensor({{3L, 2L, 9L, 7L, 1L, 4L}, {5L, 8L, 2L, 6L, 8L, 8L}});
  const auto of = [](double acted, double side, double here, double between, double past) {
    return torch::tensor({acted, side, std::log1p(here), std::log1p(between),
                          std::copysign(std::log1p(std::abs(past)), past)},
                         torch::kFloat);
  };
  const auto expected = torch::stack({of(1, 0, 9, 0, 3), of(1, 0, 5, 0, 0),  //
                                      of(0, -1, 3, 2, 1), of(0, -1, 2, 0, 3), of(0, 1, 1, 0, 3),
                                      of(0, 1, 4, 1, 2),  //
                                      of(0, 1, 2, 0, 0), of(0, 1, 6, 2, -2)});
  EXPECT_TRUE(torch::allclose(rows.relation(choices, torch::tensor({3L, 0L})), expected));
}

TEST(Rows, CountsThatArePutAreInTheTotals) {
  const Rows rows(torch::tensor({1L, 0L}), torch::zeros({2, 3, 1}, torch::kInt32));
  const LatentMask mask{torch::tensor({{6L, 1L}, {2L, 1L}}),
                        torch::tensor({1L, 2L, 3L, 1L, 0L, 0L, 2L, 0L, 0L, 1L, 0L, 0L})
                            .view({2, 2, 3})
                            .to(torch::kInt16)};
  const LatentMask next = rows.put_counts(mask, torch::arange(2), rows.counts(mask),
                                          torch::tensor({{6L, 0L}, {3L, 1L}}));
  EXPECT_TRUE(torch::equal(next.totals, torch::tensor({{10L, 1L}, {3L, 1L}})));
  EXPECT_TRUE(torch::equal(next.by_entity.select(1, 0).to(torch::kInt64),
                           torch::tensor({{1L, 6L, 3L}, {3L, 0L, 0L}})));
}

TEST_F(Factored, EndsWhereNoActionIsLeft) {
  const auto world = untrained(10);
  StartStates from = starts(*world, {.first_only = true, .most = 6});
  const int64_t no_op = data.spec().no_op();
  from.mask.totals.narrow(1, 0, no_op).zero_();
  from.mask.by_entity.narrow(1, 0, no_op).zero_();
  const auto next = world->step(from.state, from.mask, from.actions, 0, make_generator(1));
  const auto none = next.mask.totals.narrow(1, 0, no_op).eq(0).all(1);
  EXPECT_TRUE(none.any().item<bool>());
  EXPECT_TRUE(next.end.masked_select(none).all().item<bool>());
}

TEST_F(Factored, StartsAreSpreadEvenlyAndTheSame) {
  const auto world = untrained();
  const StartStates all = starts(*world), few = starts(*world, {.most = 7}),
                    begins = starts(*world, {.first_only = true});
  ASSERT_EQ(few.size(), 7);
  const auto rows = (torch::arange(7) * all.size() / 7).to(torch::kInt64);
  map_tensors(few, select_rows(all, rows), [](const torch::Tensor& x, const torch::Tensor& y) {
    EXPECT_TRUE(torch::equal(x, y));
    return x;
  });
  EXPECT_EQ(begins.size(), std::ssize(data.episodes_in(Split::kTrain)));
  EXPECT_TRUE(begins.steps.eq(0).all().item<bool>());
  EXPECT_GT(few.state.hidden.abs().max().item<float>(), 0);
}

TEST_F(Factored, StartsThatNobodyGoesOnFromLackWhatMAloneNeeds) {
  const auto world = untrained();
  StartStates all = starts(*world);
  const StartStates shown = starts(*world, {.to_go_on = false});
  EXPECT_FALSE(shown.state.cell.defined());
  EXPECT_FALSE(shown.state.latents.neighbours.defined());
  all.state.cell = all.state.latents.neighbours = torch::Tensor();
  map_tensors(shown, all, [](const torch::Tensor& x, const torch::Tensor& y) {
    EXPECT_TRUE(torch::equal(x, y));
    return x;
  });
}

TEST_F(Factored, DreamConforms) {
  const auto world = untrained();
  DreamConfig dream;
  dream.depth = 0;
  testing::check_latent_environment([&] {
    return std::make_unique<DreamEnvironment>(world, dream_starts(episodes, *world), dream, 5);
  });
}

TEST_F(Factored, LiveConforms) {
  const auto world = untrained();
  const auto v = std::make_shared<testing::BlockEncoder>(data.spec(), kBlocks);
  testing::check_latent_environment(
      [&] { return std::make_unique<LiveLatentEnvironment>(toy, v, world, 5); });
}

TEST_F(Factored, PaddingCountsNowhere) {
  std::vector<int> some = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  SequenceBatch batch = episodes.batch(some);
  ASSERT_FALSE(batch.valid.all().item<bool>());
  LatentSpec spec = untrained()->spec();
  torch::manual_seed(3);
  MdnRnn network(config.model, spec, EntityPool(spec.latent, 4));
  const auto losses = [&] {
    std::vector<double> values;
    for (const auto& [name, term] :
         world_losses(*network, batch, WorldLossConfig{}, 4, make_generator(3)).terms)
      values.push_back(term.item<double>());
    return values;
  };
  const auto before = losses();
  const auto padding = batch.valid.logical_not();
  const auto after_the_end = batch.continues().logical_not();
  batch.reward = batch.reward.masked_fill(padding, 1e6);
  batch.end = batch.end.masked_fill(padding, true);
  const auto spoil = [&](torch::Tensor& x, double value) {
    auto shape = std::vector<int64_t>(static_cast<size_t>(x.dim()), 1);
    shape[0] = after_the_end.size(0);
    shape[1] = after_the_end.size(1);
    x.narrow(1, 1, batch.steps()).masked_fill_(after_the_end.view(shape), value);
  };
  spoil(batch.latents.entities, 0.9);
  spoil(batch.latents.z, 0.9);
  EXPECT_EQ(losses(), before);
  batch.latents.entities.fill_(0.3);
  EXPECT_NE(losses(), before);
}

/// Gradients reach the network through its own predictions, and never V's pool.
TEST_F(Factored, UnrollsHaveGradients) {
  const SequenceBatch batch = episodes.batch({0, 1, 2, 3});
  LatentSpec spec = untrained()->spec();
  MdnRnn network(config.model, spec, EntityPool(spec.latent, 4));
  const auto gradient = [&](int unroll) {
    network->zero_grad();
    WorldLossConfig loss;
    loss.unroll = unroll > 1 ? 1 : 0;
    world_losses(*network, batch, loss, unroll, make_generator(1)).total().backward();
    for (const auto& parameter : network->pool->parameters())
      EXPECT_FALSE(parameter.grad().defined());
    return network->gates_hidden->weight.grad().clone();
  };
  EXPECT_FALSE(torch::allclose(gradient(1), gradient(4)));
}

TEST_F(Factored, WhoCopiesIsWrongAboutEveryChange) {
  const auto rows = open_loop(episodes, data.episodes_in(Split::kTest), *untrained(1e3), {1, 5});
  ASSERT_EQ(rows.size(), 3u);
  for (const OpenLoopRow& row : rows) {
    EXPECT_EQ(row.change_error, 1) << row.k;
    EXPECT_EQ(row.count_error, row.count_error_copy) << row.k;
  }
}

TEST_F(Factored, AWholeEpisodeHasTheRewardThatEndsIt) {
  Episode paid = data.episodes().front();
  ASSERT_GT(paid.steps.size(), 1u);
  paid.steps.back().terminated = true;
  paid.steps.back().truncated = false;
  paid.steps.back().reward = 1000;
  double sum = 0;
  for (const Transition& step : paid.steps) sum += step.reward;
  MemoryEpisodes more = data;
  more.add_episode(std::move(paid), Split::kTest);
  const LatentEpisodes all(more, encode_states(more, encoder));
  const int last = static_cast<int>(more.episodes().size()) - 1;
  const auto rows = open_loop(all, {last}, *untrained(), {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NEAR(rows[0].reward_magnitude, std::abs(sum), 1e-3);
  EXPECT_EQ(rows[0].rank_within, 0) << "one episode has no order";
}

/// Rewards that rise with the step and, far more, with the start state.
MemoryEpisodes with_rewards_by_step(const MemoryEpisodes& data, int starts) {
  MemoryEpisodes changed(data.spec());
  for (int state = 0; state < data.state_count(); ++state) changed.add_state(data.state(state));
  for (size_t i = 0; i < data.episodes().size(); ++i) {
    Episode episode = data.episodes()[i];
    episode.start_graph = static_cast<int32_t>(i) % starts;
    for (size_t t = 0; t < episode.steps.size(); ++t)
      episode.steps[t].reward = static_cast<float>(t) + 100.0f * static_cast<float>(i % starts);
    changed.add_episode(std::move(episode), data.split(static_cast<int>(i)));
  }
  return changed;
}

TEST_F(Factored, RanksAreTakenWithinAStartBesideWhatTheStepAloneTells) {
  const auto rows_of = [&](int starts) {
    const MemoryEpisodes changed = with_rewards_by_step(data, starts);
    const LatentEpisodes all(changed, encode_states(changed, encoder));
    return open_loop(all, changed.episodes_in(Split::kTest), *untrained(), {1});
  };
  for (const int starts : {1, 4}) {
    const OpenLoopRow row = rows_of(starts).front();
    EXPECT_GT(row.rank_by_step, 0.9) << "within a start the step tells all, of " << starts;
    EXPECT_LT(std::abs(row.rank_within), 0.6) << "M was never trained";
  }
  const int alone = static_cast<int>(data.episodes().size());
  EXPECT_EQ(rows_of(alone).back().rank_within, 0) << "whole episodes, each alone in its start";
}

TEST_F(Factored, LearnsCountsAndRewardsOfTheToy) {
  const auto world = train(first);
  const auto rows = open_loop(episodes, data.episodes_in(Split::kTest), *world, {1, 5, 10});
  SCOPED_TRACE(open_loop_table(rows));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_LT(rows[0].count_error, 0.1 * rows[0].count_error_copy);
  EXPECT_LT(rows[0].reward_error, 0.1 * rows[0].reward_magnitude);
  EXPECT_GT(rows[0].rank_within, 0.9);
  EXPECT_LT(rows[0].latent_error, 0.5 * rows[0].latent_error_copy);
  EXPECT_LT(rows[0].change_error, 0.1);
  EXPECT_GT(rows[0].absent_f1, 0.98);
  EXPECT_LT(rows[2].count_error, 0.25 * rows[2].count_error_copy);
  EXPECT_LT(rows[2].latent_error, 0.5 * rows[2].latent_error_copy);
  EXPECT_EQ(rows[3].k, 0);
  EXPECT_EQ(rows[3].starts, std::ssize(data.episodes_in(Split::kTest)));
  EXPECT_LT(rows[3].count_error, 0.5 * rows[3].count_error_copy);
}

TEST_F(Factored, WhatIsStoredIsWhatIsLoaded) {
  const auto world = untrained();
  Checkpoint checkpoint;
  checkpoint.kind = "world";
  encoder.store(checkpoint);
  world->store(checkpoint);
  save_checkpoint(first / "world.pt", checkpoint);
  const auto loaded = load_world_model(load_checkpoint(first / "world.pt", "world"));
  const StartStates from = starts(*world);
  LatentState a = from.state, b = from.state;
  const auto x = world->step(a, from.mask, from.actions, 1, make_generator(1));
  const auto y = loaded->step(b, from.mask, from.actions, 1, make_generator(1));
  map_tensors(x, y, [](const torch::Tensor& one, const torch::Tensor& other) {
    EXPECT_TRUE(torch::equal(one, other));
    return one;
  });
}

}  // namespace
}  // namespace reverie
