#include "controller/train/clone.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "controller/train/ppo.h"
#include "env/toy/toy_environment.h"
#include "tests/support/latent_puzzle.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/untrained_world.h"
#include "worldmodel/encoder/latent_cache.h"

namespace reverie {
namespace {

TEST(CloneTest, GoodStepsAreTheBestEpisodesOfEachStartUpToTheirHeight) {
  ToyEnvironment toy(ToyConfig{2, 4, 8});
  MemoryEpisodes source = testing::random_episodes(toy, 60, 1);
  MemoryEpisodes data(toy.spec());
  for (int i = 0; i < source.state_count(); ++i) data.add_state(source.state(i));
  for (Episode episode : source.episodes()) {
    episode.start_graph = static_cast<int32_t>(episode.seed % 4);
    data.add_episode(std::move(episode), Split::kTrain);
  }
  testing::UntrainedWorld untrained(toy.spec());
  const LatentEpisodes episodes(data, encode_states(data, *untrained.encoder));
  const double gamma = 0.9;
  const Demonstrations steps = demonstrations(episodes, *untrained.world, 0.2);
  const auto sums = steps.to_come(gamma);

  std::map<int, std::vector<double>> heights;  // by start graph, of episodes that are imitated
  std::map<int, std::vector<double>> others;
  int64_t row = 0;
  for (const Episode& episode : data.episodes()) {
    double sum = 0, height = 0, total = 0;
    for (const Transition& step : episode.steps) height = std::max(height, total += step.reward);
    const bool imitated = steps.good[row].item<bool>();
    for (size_t t = 0; t < episode.steps.size(); ++t, ++row) {
      ASSERT_EQ(steps.actions.primary[row].item<int64_t>(), episode.steps[t].action.primary);
      double to_come = 0;
      for (size_t later = episode.steps.size(); later-- > t;)
        to_come = episode.steps[later].reward + gamma * to_come;
      EXPECT_NEAR(sums[row].item<double>(), to_come, 1e-3);
      EXPECT_EQ(steps.good[row].item<bool>(), imitated && sum < height);
      sum += episode.steps[t].reward;
      if (sum >= height) height = -1e9;  // what follows is not imitated
    }
    double best = 0, running = 0;
    for (const Transition& step : episode.steps) best = std::max(best, running += step.reward);
    (imitated ? heights : others)[episode.start_graph].push_back(best);
  }
  EXPECT_EQ(row, steps.size());
  ASSERT_EQ(heights.size(), 4u);
  for (auto& [graph, of_graph] : heights) {
    EXPECT_EQ(of_graph.size(), 3u);  // a fifth of 15
    EXPECT_GE(*std::min_element(of_graph.begin(), of_graph.end()),
              *std::max_element(others[graph].begin(), others[graph].end()));
  }
}

/// 256 steps, of which three in four are good and take the side that z says; the others take the
/// opposite. What a state is worth grows with z.
struct Sides {
  Sides() : puzzle(256, 2, 8) {
    const LatentObservation observation = puzzle.reset(1);
    torch::manual_seed(1);
    steps.observation = observation;
    steps.observation.z = torch::randn_like(observation.z);
    steps.observation.mask.totals = torch::full_like(observation.mask.totals, 3);
    steps.observation.mask.by_entity = torch::full_like(observation.mask.by_entity, 3);
    side = (steps.observation.z.select(1, 0) > 0).to(torch::kInt64);
    steps.good = torch::arange(256) % 4 != 0;
    steps.actions.primary = torch::where(steps.good, side, 1 - side);
    steps.actions.entity = torch::zeros_like(side);
    steps.actions.index = torch::full_like(side, 2);
    worth = 2 * steps.observation.z.select(1, 0);
    ActorCriticConfig config;
    config.width = 32;
    net = ActorCritic(puzzle.spec(), config);
    how.epochs = 150;
    how.minibatch = 64;
    how.learning_rate = 3e-3;
  }

  LatentPuzzle puzzle;
  Demonstrations steps;
  torch::Tensor side, worth;
  ActorCritic net{nullptr};
  CloneConfig how;
};

TEST(CloneTest, ImitatesGoodStepsAloneAndLearnsWhatIsToCome) {
  Sides sides;
  auto& [puzzle, steps, side, worth, net, how] = sides;
  const Metrics metrics = clone_actions(net, steps, worth, how, 1);
  EXPECT_GT(metrics[0].second, -0.3);
  EXPECT_LT(metrics[1].second, 0.3);
  Rng rng(1);
  const Choice choice = net->choose(steps.observation, true, rng);
  const auto right = choice.actions.primary.eq(side) & choice.actions.index.eq(2);
  EXPECT_GT(right.to(torch::kFloat).mean().item<double>(), 0.9);
  const auto miss = net->value(steps.observation) - worth;
  EXPECT_LT(miss.square().mean().item<double>(), 0.4);
}

TEST(CloneTest, WhereNothingGainedTheCriticLearnsAlone) {
  Sides sides;
  auto& [puzzle, steps, side, worth, net, how] = sides;
  steps.good.fill_(false);
  const Metrics metrics = clone_actions(net, steps, worth, how, 1);
  EXPECT_EQ(metrics[0].second, 0);
  EXPECT_LT(metrics[1].second, 0.3);
  for (const auto& weights : net->parameters()) EXPECT_TRUE(weights.isfinite().all().item<bool>());
  worth[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(clone_actions(net, steps, worth, how, 1), InputError);
}

TEST(CloneTest, ValuesAfterImitationAreInRewards) {
  Sides sides;
  sides.steps.reward = 100 * sides.worth;
  sides.steps.episode = torch::arange(256);  // one step each
  ActorCriticConfig net;
  net.width = 32;
  PpoTrainer trainer(sides.puzzle.spec(), net, PpoConfig{}, 1);
  trainer.imitate(sides.steps, sides.how, 1);
  const auto miss = trainer.policy().priors(sides.steps.observation).value - sides.steps.reward;
  EXPECT_LT(miss.square().mean().item<double>(),
            0.2 * sides.steps.reward.square().mean().item<double>());
}

}  // namespace
}  // namespace reverie
