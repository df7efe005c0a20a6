#include <gmock/gmock.h>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "tests/support/counting_environment.h"
#include "tests/support/memory_episodes.h"
#include "tests/worldmodel/latent_conformance.h"
#include "worldmodel/encoder/graph_encoder.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/latent/dream.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

using testing::CountingEnvironment;

constexpr int kBatch = 5;

/// Untrained V and M for an environment, and episodes of it.
struct Fixture {
  explicit Fixture(std::unique_ptr<Environment> real)
      : environment(std::move(real)), data(testing::random_episodes(*environment, 20, 1)) {
    torch::manual_seed(7);
    EncoderConfig vae;
    vae.latent = 6;
    vae.width = 8;
    encoder = make_encoder(vae, environment->spec());
    WorldModelConfig mdn;
    mdn.hidden = 12;
    LatentSpec spec;
    spec.latent = vae.latent;
    spec.hidden = mdn.hidden;
    spec.env = environment->spec();
    Checkpoint stored;
    encoder->store(stored);
    network = MdnRnn(mdn, spec, load_entity_pool(stored));
    world = std::make_shared<MdnWorldModel>(network);
  }

  static DreamConfig whole_episodes() {
    DreamConfig config;
    config.depth = 0;
    return config;
  }
  std::unique_ptr<LatentEnvironment> live() const {
    return std::make_unique<LiveLatentEnvironment>(*environment, encoder, world, kBatch);
  }
  std::unique_ptr<LatentEnvironment> dream(DreamConfig config = whole_episodes()) const {
    const LatentEpisodes episodes(data, encode_states(data, *encoder));
    return std::make_unique<DreamEnvironment>(world, dream_starts(episodes, *world), config,
                                              kBatch);
  }

  std::unique_ptr<Environment> environment;
  MemoryEpisodes data;
  std::shared_ptr<Encoder> encoder;
  MdnRnn network{nullptr};
  std::shared_ptr<WorldModel> world;
};

Fixture toy() { return Fixture(std::make_unique<ToyEnvironment>(ToyConfig{3, 4, 12})); }

TEST(LatentObservation, EntitiesThatAGraphLacksChangeNothingThatAPolicySees) {
  torch::manual_seed(3);
  LatentState three{
      {torch::randn({2, 6}), torch::randn({2, 3, 6}), {}}, torch::randn({2, 3, 12}), {}};
  LatentState padded = three;
  padded.latents.entities = torch::cat({three.latents.entities, torch::zeros({2, 5, 6})}, 1);
  padded.hidden = torch::cat({three.hidden, torch::zeros({2, 5, 12})}, 1);
  const LatentObservation seen = observation_of(three, {}, torch::ones({2}));
  EXPECT_TRUE(observation_of(padded, {}, torch::ones({2})).h.equal(seen.h));
  EXPECT_TRUE(seen.h.allclose(three.hidden.mean(1)));
}

TEST(LatentEnvironment, LiveConforms) {
  const Fixture fixture = toy();
  testing::check_latent_environment([&] { return fixture.live(); });
}

TEST(LatentEnvironment, DreamConforms) {
  const Fixture fixture = toy();
  testing::check_latent_environment([&] { return fixture.dream(); });
}

TEST(LatentEnvironment, LiveConformsWithDifferentNumbersOfEntities) {
  const Fixture fixture(std::make_unique<CountingEnvironment>(7));
  testing::check_latent_environment([&] { return fixture.live(); });
}

TEST(LatentEnvironment, DreamConformsWithDifferentNumbersOfEntities) {
  const Fixture fixture(std::make_unique<CountingEnvironment>(7));
  testing::check_latent_environment([&] { return fixture.dream(); });
}

TEST(LatentEnvironment, LiveAgreesWithTheRealEnvironment) {
  const Fixture fixture(std::make_unique<CountingEnvironment>(7));
  const auto live = fixture.live();
  live->reset(4);
  // Trajectory 1 began at seed 5, with three entities; the last of them has a choice of action b.
  const std::vector<Action> chosen = {{0, 0, 0}, {1, 1, 0}, {2, 0, 0}, {3, 0, 0}, {0, 0, 0}};
  const LatentStep step = live->step(latent_actions(chosen));
  EXPECT_EQ(step.reward[1].item<float>(), CountingEnvironment::reward_of(1, {1, 1, 0}));
  EXPECT_TRUE(step.terminated[3].item<bool>());
  auto real = fixture.environment->fork();
  real->reset(5);
  real->step({1, 1, 0});
  const Observation seen = real->observe();
  const std::vector<const Observation*> one = {&seen};
  const auto expected = fixture.encoder->encode(one).z[0];
  EXPECT_TRUE(torch::allclose(live->observe().z[1], expected, 1e-4, 1e-5));
  EXPECT_EQ(live->observe().mask.totals[1][0].item<int64_t>(), seen.mask.total(0));
  EXPECT_EQ(live->counters().steps, kBatch);
}

TEST(LatentEnvironment, LiveIsTheSameForAnyNumberOfWorkers) {
  const Fixture fixture(std::make_unique<CountingEnvironment>(7));
  const auto play = [&](int workers) {
    LiveLatentEnvironment live(*fixture.environment, fixture.encoder, fixture.world, kBatch,
                               workers);
    Rng rng(5);
    auto observation = live.reset(2);
    auto rewards = torch::zeros({kBatch});
    for (int i = 0; i < 6; ++i) {
      rewards += live.step(testing::random_latent_actions(observation.mask, rng)).reward;
      observation = live.observe();
    }
    return torch::cat({observation.z.flatten(), observation.h.flatten(), rewards});
  };
  EXPECT_TRUE(torch::equal(play(1), play(3)));
}

TEST(LatentEnvironment, LiveRefusesOtherActions) {
  const Fixture fixture = toy();
  EXPECT_THROW(LiveLatentEnvironment(CountingEnvironment(), fixture.encoder, fixture.world, 2),
               InputError);
}

TEST(Dream, BeginsAtRealStatesWithTheirMasksAndTimeToGo) {
  const Fixture fixture = toy();
  const LatentEpisodes episodes(fixture.data, encode_states(fixture.data, *fixture.encoder));
  const StartStates starts =
      collect_starts(episodes, fixture.data.episodes_in(Split::kTrain), *fixture.world, {});
  int64_t row = 0;
  for (const int index : fixture.data.episodes_in(Split::kTrain)) {
    const Episode& episode = fixture.data.episodes()[index];
    for (size_t t = 0; t < episode.steps.size(); ++t, ++row) {
      const ActionMask mask = fixture.data.mask(episode.steps[t].state);
      ASSERT_EQ(starts.episode[row].item<int64_t>(), index);
      ASSERT_EQ(starts.steps[row].item<int64_t>(), static_cast<int64_t>(t));
      ASSERT_EQ(starts.actions.primary[row].item<int64_t>(), episode.steps[t].action.primary);
      ASSERT_EQ(starts.reward[row].item<float>(), episode.steps[t].reward);
      for (int a = 0; a < mask.primary_actions(); ++a)
        ASSERT_EQ(starts.mask.totals[row][a].item<int64_t>(), mask.total(a));
      ASSERT_TRUE(
          torch::equal(starts.state.latents.z[row], episodes.latents().z[episode.steps[t].state]));
      ASSERT_EQ(starts.state.hidden[row].abs().sum().item<float>() == 0, t == 0);
    }
  }
  EXPECT_EQ(row, starts.size());
}

TEST(Dream, DepthTruncatesAndTemperatureZeroIsDeterministic) {
  const Fixture fixture = toy();
  DreamConfig config;
  config.depth = 2;
  config.temperature = 0;
  const LatentEpisodes episodes(fixture.data, encode_states(fixture.data, *fixture.encoder));
  const StartStates starts = collect_starts(episodes, fixture.data.episodes_in(Split::kTrain),
                                            *fixture.world, {.first_only = true});
  const auto dream = std::make_unique<DreamEnvironment>(fixture.world, starts, config, kBatch);
  const auto run = [&](uint64_t seed) {
    auto observation = dream->reset(seed);
    EXPECT_TRUE(observation.to_go.eq(1).all().item<bool>());
    Rng rng(2);
    dream->step(testing::random_latent_actions(observation.mask, rng));
    const auto z = dream->observe().z;
    observation = dream->observe();
    const auto last = dream->step(testing::random_latent_actions(observation.mask, rng));
    EXPECT_TRUE(last.terminated.logical_or(last.truncated).all().item<bool>());
    return z;
  };
  EXPECT_TRUE(torch::equal(run(3), run(3)));
}

}  // namespace
}  // namespace reverie
