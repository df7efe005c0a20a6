#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "tests/support/counting_environment.h"
#include "tests/support/fit_metrics.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "worldmodel/encoder/entity_pool.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/encoder/train_vae.h"
#include "worldmodel/memory/train_mdnrnn.h"

namespace reverie {
namespace {

/// These episodes with their first steps alone.
MemoryEpisodes first_steps(const MemoryEpisodes& data) {
  MemoryEpisodes first(data.spec());
  for (int i = 0; i < data.state_count(); ++i) first.add_state(data.state(i));
  for (int i = 0; i < std::ssize(data.episodes()); ++i) {
    Episode episode = data.episodes()[i];
    if (episode.steps.size() < 2) continue;
    episode.final_state = episode.steps[1].state;
    episode.steps.resize(1);
    episode.steps[0].truncated = true;
    first.add_episode(std::move(episode), data.split(i));
  }
  return first;
}

/// Small models that train in seconds; one thread, so that sums have one order.
class Learning : public ::testing::Test {
 protected:
  Learning() : toy(ToyConfig{4, 8, 16}), data(testing::random_episodes(toy, 200, 1)) {
    torch::set_num_threads(1);
    vae.encoder.latent = 12;
    vae.encoder.width = 24;
    vae.encoder.blocks = 2;
    vae.fit.epochs = 12;
    vae.minibatch_graphs = 32;
    mdn.model.hidden = 48;
    mdn.model.mixtures = 3;
    mdn.loss.unroll_steps = 4;
    mdn.fit.epochs = 25;
    mdn.minibatch_episodes = 8;
    mdn.loss.unroll_starts = 32;
    mdn.fit.learning_rate = 4e-3;
  }

  FitResult train_v(const std::string& directory, bool resume = false,
                    std::function<void(const FitProgress&)> observe = {}) {
    return train_vae(data, vae, 5, directory, resume, torch::kCPU, observe);
  }
  std::shared_ptr<Encoder> encoder(const std::string& directory) {
    return load_encoder(load_checkpoint(directory + "/encoder.pt", "encoder"));
  }

  ToyEnvironment toy;
  MemoryEpisodes data;
  TrainVaeConfig vae;
  TrainMdnRnnConfig mdn;
  TemporaryDirectory first, second;
};

TEST_F(Learning, VLearnsTheMaskAndMBeatsCopying) {
  FitMetrics start, end;
  train_v(first.path(), false, [&](const FitProgress& progress) {
    if (progress.epoch == 1) start = progress.metrics;
    if (progress.best) end = progress.metrics;
  });
  for (const char* part : {"presence", "counts", "gains", "statistics", "node_types"})
    EXPECT_LT(testing::value(end, std::string("validation/") + part),
              0.8 * testing::value(start, std::string("validation/") + part))
        << part;

  const auto v = encoder(first.path());
  const LatentEpisodes episodes(data, encode_states(data, *v));
  train_mdnrnn(episodes, *v, mdn, 5, second.path(), false, torch::kCPU, {});
  const auto world = load_world_model(load_checkpoint(second / "world.pt", "world"));
  const auto rows = open_loop(episodes, data.episodes_in(Split::kTest), *world, {1, 5, 10});
  SCOPED_TRACE(open_loop_table(rows));
  ASSERT_GE(rows.size(), 2u);
  EXPECT_LT(rows[0].count_error, 0.7 * rows[0].count_error_copy);
  EXPECT_LT(rows[0].change_error, 1);
  EXPECT_LT(rows[0].latent_error, 0.8 * rows[0].latent_error_copy);
  EXPECT_LT(rows[0].reward_error, 0.5 * rows[0].reward_magnitude);
  EXPECT_GT(rows[0].present_f1, rows[0].present_f1_copy);
  EXPECT_GT(rows[0].absent_f1, rows[0].absent_f1_copy);
  EXPECT_LT(rows[1].count_error, rows[1].count_error_copy);
  EXPECT_LT(rows[1].latent_error, rows[1].latent_error_copy);
  const auto whole = open_loop(episodes, data.episodes_in(Split::kTest), *world, {});
  ASSERT_EQ(whole.size(), 1u) << "no steps are named: to the end alone";
  EXPECT_EQ(whole[0].k, 0);
  EXPECT_EQ(whole[0].reward_error, rows.back().reward_error);
}

TEST_F(Learning, WhatIsResumedTellsTheTimeAndTheBestEpochOfAll) {
  vae.fit.epochs = 3;
  FitMetrics best;
  const FitResult result = train_v(first.path(), false, [&](const FitProgress& progress) {
    if (progress.best) best = progress.metrics;
  });
  EXPECT_EQ(result.best_metrics, best);
  EXPECT_GT(result.seconds, 0);
  const FitResult again =
      train_v(first.path(), true, [](const FitProgress&) { FAIL() << "it was done"; });
  EXPECT_GE(again.seconds, result.seconds / 2) << "that of the epochs before";
  EXPECT_THAT(again.best_metrics, ::testing::UnorderedElementsAreArray(best));
}

TEST_F(Learning, MSpeaksOfTheActionsThatItSawInAnyRound) {
  vae.encoder.kind = encoder_kind("random");
  train_v(first.path());
  const auto v = encoder(first.path());
  ToyEnvironment uneven(
      ToyConfig{4, 1, 16});  // nothing to merge before a step, nothing to fold after one
  const MemoryEpisodes all = testing::random_episodes(uneven, 40, 1), some = first_steps(all);
  mdn.fit.epochs = 1;
  const auto seen_in = [&](const MemoryEpisodes& episodes, const Checkpoint* from) {
    const TemporaryDirectory directory;
    train_mdnrnn(LatentEpisodes(episodes, encode_states(episodes, *v)), *v, mdn, 5,
                 directory.path(), false, torch::kCPU, {}, from);
    return load_checkpoint(directory / "world.pt", "world");
  };
  const Checkpoint few = seen_in(some, nullptr), more = seen_in(all, &few),
                   still = seen_in(some, &more);
  const auto ints = [](std::vector<int64_t> values) {
    return torch::tensor(values, torch::kInt64);
  };
  EXPECT_TRUE(torch::equal(few.tensors.at("world.seen"), ints({1, 1, 0, 1, 0})));
  EXPECT_TRUE(torch::equal(more.tensors.at("world.seen"), ints({1, 1, 1, 1, 0})));
  EXPECT_TRUE(torch::equal(still.tensors.at("world.seen"), ints({1, 1, 1, 1, 0})));
}

TEST_F(Learning, ResumingWithOtherDataOrConfigurationIsRefused) {
  vae.fit.epochs = 1;
  train_v(first.path());
  vae.fit.epochs = 2;
  EXPECT_THROW(train_v(first.path(), true), InputError);
  vae.fit.epochs = 1;
  data = testing::random_episodes(toy, 60, 2);
  EXPECT_THROW(train_v(first.path(), true), InputError);
}

TEST_F(Learning, WorldCheckpointHoldsVAndM) {
  vae.encoder.kind = encoder_kind("random");
  train_v(first.path());
  const auto v = encoder(first.path());
  const LatentEpisodes episodes(data, encode_states(data, *v));
  mdn.fit.epochs = 1;
  train_mdnrnn(episodes, *v, mdn, 5, second.path(), false, torch::kCPU, {});
  const Checkpoint world = load_checkpoint(second / "world.pt", "world");
  EXPECT_TRUE(torch::equal(encode_states(data, *load_encoder(world)).z, episodes.latents().z));
  EXPECT_EQ(load_world_model(world)->spec().hidden, mdn.model.hidden);
}

TEST_F(Learning, TheFileSaysHowGoodMIs) {
  vae.encoder.kind = encoder_kind("random");
  train_v(first.path());
  const auto v = encoder(first.path());
  const LatentEpisodes episodes(data, encode_states(data, *v));
  mdn.fit.epochs = 2;
  const FitResult result =
      train_mdnrnn(episodes, *v, mdn, 5, second.path(), false, torch::kCPU, {});
  const auto rows = judge_world(episodes, {1, 2}, second.path(), torch::kCPU);
  const Checkpoint world = load_checkpoint(second / "world.pt", "world");
  for (const char* loss : {"loss", "latent", "reward", "end", "counts"})
    EXPECT_EQ(world.scores.at(std::string("world/validation/") + loss),
              testing::value(result.best_metrics, std::string("validation/") + loss));
  const auto kept = get_open_loop(world);
  EXPECT_EQ(open_loop_json(kept).dump(), open_loop_json(rows).dump());
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.back().k, 0) << "whole episodes come last";
  EXPECT_EQ(load_world_model(world)->spec().hidden, mdn.model.hidden) << "it still holds M";
}

TEST_F(Learning, LatentsAreEncodedOnceForOneEncoder) {
  vae.encoder.kind = encoder_kind("random");
  train_v(first.path());
  const auto v = encoder(first.path());
  int encoded = 0;
  const auto count = [&](int) { ++encoded; };
  const auto made = cached_latents(second / "latents.pt", data, *v, count).z;
  EXPECT_GT(std::exchange(encoded, 0), 0);
  EXPECT_TRUE(torch::equal(cached_latents(second / "latents.pt", data, *v, count).z, made));
  EXPECT_EQ(encoded, 0);
  vae.encoder.latent = 5;
  train_v(first.path());
  EXPECT_EQ(cached_latents(second / "latents.pt", data, *encoder(first.path()), count).z.size(1),
            5);
  EXPECT_GT(encoded, 0);
}

/// Latents [N, latent] of states of up to three entities, all of a state alike, that are no
/// neighbours.
Latents flat_latents(const torch::Tensor& z) {
  return {z, z.unsqueeze(1).repeat({1, 3, 1}), torch::zeros({z.size(0), 3, 1}, torch::kInt32)};
}

/// Everything about step t of an episode of the counting environment says t.
TEST(Alignment, StateActionRewardEndMaskAndNextOnes) {
  testing::CountingEnvironment environment(7);
  const MemoryEpisodes data = testing::random_episodes(environment, 30, 1);
  auto told = torch::empty({data.state_count(), 5});
  for (int i = 0; i < data.state_count(); ++i)
    told[i] = torch::tensor(data.state(i).graph.graph_targets);
  const LatentEpisodes episodes(data, flat_latents(told));
  std::vector<int> all(data.episodes().size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  const SequenceBatch batch = episodes.batch(all);
  int64_t ends = 0;
  for (const int b : all) {
    const int length = static_cast<int>(data.episodes()[b].steps.size());
    ASSERT_EQ(batch.valid[b].sum().item<int64_t>(), length);
    for (int t = 0; t < length; ++t) {
      ASSERT_TRUE(batch.valid[b][t].item<bool>());
      const int p = batch.actions.primary[b][t].item<int>();
      const int e = batch.actions.entity[b][t].item<int>(),
                i = batch.actions.index[b][t].item<int>();
      const bool no_op = p == environment.spec().no_op();
      EXPECT_EQ(batch.latents.z[b][t][0].item<float>(), t);
      for (int a = 0; a < 3; ++a)
        for (int entity = 0; entity < 2; ++entity)
          EXPECT_EQ(batch.mask.by_entity[b][t][a][entity].item<int>(),
                    testing::CountingEnvironment::choices_of(t, a, entity));
      EXPECT_EQ(batch.end[b][t].item<bool>(), no_op);
      EXPECT_EQ(batch.continues()[b][t].item<bool>(), !no_op);
      ends += no_op;
      if (no_op) continue;
      EXPECT_EQ(batch.reward[b][t].item<float>(),
                testing::CountingEnvironment::reward_of(t + 1, {p, e, i}));
      EXPECT_EQ(batch.latents.z[b][t + 1][0].item<float>(), t + 1);
      EXPECT_EQ(batch.latents.z[b][t + 1][1].item<float>(), p);
      EXPECT_EQ(batch.latents.z[b][t + 1][2].item<float>(), e);
      EXPECT_EQ(batch.latents.z[b][t + 1][3].item<float>(), i);
      EXPECT_EQ(batch.mask.by_entity[b][t + 1][0][0].item<int>(),
                testing::CountingEnvironment::choices_of(t + 1, 0, 0));
    }
  }
  EXPECT_GT(ends, 0);
}

/// Few units, over latents of four numbers.
MdnRnn small_network(const EnvSpec& env) {
  LatentSpec spec;
  spec.latent = 4;
  spec.hidden = 8;
  spec.env = env;
  WorldModelConfig config;
  config.hidden = 8;
  return MdnRnn(config, spec, EntityPool(spec.latent, 4));
}

/// Losses do not change with what stands in the padding.
TEST(WorldLoss, PaddingCountsNowhere) {
  testing::CountingEnvironment environment(7);
  const MemoryEpisodes data = testing::random_episodes(environment, 40, 1);
  torch::manual_seed(1);
  const LatentEpisodes episodes(data, flat_latents(torch::rand({data.state_count(), 4}) * 2 - 1));
  std::vector<int> all;
  for (size_t i = 0; i < data.episodes().size(); ++i) all.push_back(static_cast<int>(i));
  SequenceBatch batch = episodes.batch(all);
  ASSERT_FALSE(batch.valid.all().item<bool>());
  MdnRnn network = small_network(data.spec());
  const auto losses = [&] {
    std::vector<double> values;
    for (const auto& [name, term] :
         world_losses(*network, batch, WorldLossConfig{}, 4, make_generator(3)).terms)
      values.push_back(term.item<double>());
    return values;
  };
  const auto before = losses();
  const auto padding = batch.valid.logical_not();
  batch.reward.masked_fill_(padding, 1e6);
  batch.end.masked_fill_(padding, true);
  const auto ended = batch.continues().logical_not().unsqueeze(2);
  batch.latents.z.narrow(1, 1, batch.steps()).masked_fill_(ended, 0.9);
  batch.latents.entities.narrow(1, 1, batch.steps()).masked_fill_(ended.unsqueeze(3), 0.9);
  batch.mask.totals.narrow(1, 1, batch.steps()).masked_fill_(ended, 2);
  batch.mask.by_entity.narrow(1, 1, batch.steps()).masked_fill_(ended.unsqueeze(3), 1);
  EXPECT_EQ(losses(), before);
  batch.reward.masked_fill_(batch.valid, 1e3);
  EXPECT_NE(losses(), before);
}

MemoryEpisodes without(const MemoryEpisodes& data, Split split) {
  MemoryEpisodes rest(data.spec());
  for (int i = 0; i < data.state_count(); ++i) rest.add_state(data.state(i));
  for (int i = 0; i < std::ssize(data.episodes()); ++i)
    if (data.split(i) != split)
      rest.add_episode(data.episodes()[static_cast<size_t>(i)], data.split(i));
  return rest;
}

TEST_F(Learning, WhatIsHeldOutForTestingTeachesNothingAndValidationJudges) {
  vae.encoder.kind = encoder_kind("random");
  train_v(first.path());
  const auto v = encoder(first.path());
  mdn.fit.epochs = 2;
  const auto trained = [&](const MemoryEpisodes& episodes) {
    const TemporaryDirectory directory;
    train_mdnrnn(LatentEpisodes(episodes, encode_states(episodes, *v)), *v, mdn, 5,
                 directory.path(), false, torch::kCPU, {});
    return load_checkpoint(directory / "world.pt", "world");
  };
  const Checkpoint all = trained(data), untested = trained(without(data, Split::kTest)),
                   unjudged = trained(without(data, Split::kValidation));
  EXPECT_EQ(untested.scores.at("best_loss"), all.scores.at("best_loss"));
  for (const auto& [name, tensor] : all.tensors)
    EXPECT_TRUE(torch::equal(untested.tensors.at(name), tensor)) << name;
  EXPECT_NE(unjudged.scores.at("best_loss"), all.scores.at("best_loss"));
}

/// Where M says that nothing changes, and nothing does, an unroll of two steps loses what the real
/// steps lose.
TEST(WorldLoss, UnrollsThatAreRightLoseWhatTheRealStepsLose) {
  testing::CountingEnvironment environment(7);
  const MemoryEpisodes data = testing::random_episodes(environment, 20, 1);
  const LatentEpisodes episodes(data, flat_latents(torch::full({data.state_count(), 4}, 0.3)));
  int whole = 0;
  while (!data.episodes()[static_cast<size_t>(whole)].steps.back().truncated) ++whole;
  SequenceBatch batch = episodes.batch({whole});
  ASSERT_EQ(batch.steps(), 7);
  batch.mask.totals.fill_(6);
  batch.mask.by_entity.fill_(3);
  batch.reward.mul_(1e-3);
  torch::manual_seed(1);
  MdnRnn network = small_network(data.spec());
  {
    torch::NoGradGuard guard;
    batch.latents.z = network->pool->forward(batch.latents.entities);  // as unrolls tell it
    const int64_t reward = network->columns()[0];  // all else of the head says nothing
    for (const torch::Tensor& part : {network->head->weight, network->head->bias}) {
      part.narrow(0, 0, reward).zero_();
      part.narrow(0, reward + 1, part.size(0) - reward - 1).zero_();
    }
  }
  const auto loss = [&](const SequenceBatch& some, const std::string& wanted) {
    for (const auto& [name, term] :
         world_losses(*network, some, WorldLossConfig{}, 2, make_generator(3)).terms)
      if (name == wanted) return term.item<double>();
    ADD_FAILURE() << wanted;
    return 0.0;
  };
  SequenceBatch first = batch;
  for (torch::Tensor* x : {&first.latents.z, &first.latents.entities, &first.latents.neighbours,
                           &first.mask.totals, &first.mask.by_entity})
    *x = x->narrow(1, 0, 2);
  for (torch::Tensor* x : {&first.actions.primary, &first.actions.entity, &first.actions.index,
                           &first.reward, &first.end, &first.valid})
    *x = x->narrow(1, 0, 1);
  const double expected = (7 * loss(batch, "reward") - loss(first, "reward")) / 6;
  EXPECT_NEAR(loss(batch, "unroll_reward"), expected, 1e-4 * expected);
}

}  // namespace
}  // namespace reverie
