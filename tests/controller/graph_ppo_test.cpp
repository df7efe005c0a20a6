#include "controller/graph_ppo.h"

#include <gmock/gmock.h>

#include "env/toy/toy_environment.h"

namespace reverie {
namespace {

GraphPpoConfig small_config() {
  GraphPpoConfig config;
  config.encoder.latent = 16;
  config.encoder.width = 16;
  config.encoder.blocks = 2;
  config.width = 32;
  config.batch = 16;
  config.ppo.learning_rate = 3e-3;
  config.ppo.minibatch = 64;
  config.ppo.entropy = 0.02;
  return config;
}

TEST(GraphPpoTest, LearnsOnTheGraphItself) {
  const ToyEnvironment toy(ToyConfig{1, 4, 6});
  GraphPpoTrainer trainer(toy, small_config(), 1);
  constexpr int kUpdates = 25;
  double first = 0, last = 0;
  for (int update = 0; update < kUpdates; ++update) {
    const Metrics metrics = trainer.update(1.0 * update / kUpdates, static_cast<uint64_t>(update));
    if (update < 3) first += metrics[0].second / 3;
    if (update >= kUpdates - 3) last += metrics[0].second / 3;
  }
  EXPECT_GT(last, first + 5);
  EXPECT_GT(trainer.counters().steps, 0);
}

TEST(GraphPpoTest, TheAgentActsByTheMaskAndForksAgree) {
  const ToyEnvironment toy(ToyConfig{2, 4, 8});
  GraphPpoConfig config = small_config();
  config.updates = 1;
  config.batch = 2;
  EnvCounters counters;
  const auto agent = make_ppo_agent(toy, config, 3, ProgressStyle::kQuiet, counters);
  const auto fork = agent->fork();
  EXPECT_EQ(counters.resets, 2);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    ToyEnvironment env(ToyConfig{2, 4, 8});
    env.reset(seed);
    Rng one(seed), two(seed);
    EXPECT_EQ(agent->begin(env, one), "ppo");
    fork->begin(env, two);
    for (bool over = false; !over;) {
      const Observation observation = env.observe();
      const Action action = agent->act(env, observation, one);
      ASSERT_EQ(action, fork->act(env, observation, two));
      const StepResult result = env.step(action);
      over = result.terminated || result.truncated;
    }
  }
}

}  // namespace
}  // namespace reverie
