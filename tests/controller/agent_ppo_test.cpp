#include "controller/modelfree/agent_ppo.h"

#include <gmock/gmock.h>

#include "env/toy/toy_environment.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

AgentPpoConfig small_config(ModelFreeKind kind = ModelFreeKind::kGraph) {
  AgentPpoConfig config;
  config.net.network = kind;
  config.net.encoder.latent = 16;
  config.net.encoder.width = 16;
  config.net.encoder.blocks = 2;
  config.net.width = 32;
  config.batch = 16;
  config.ppo.learning_rate = 3e-3;
  config.ppo.minibatch = 64;
  config.ppo.entropy = 0.02;
  return config;
}

class AgentPpo : public ::testing::TestWithParam<ModelFreeKind> {};

INSTANTIATE_TEST_SUITE_P(, AgentPpo,
                         ::testing::Values(ModelFreeKind::kGraph, ModelFreeKind::kCandidates),
                         [](const auto& kind) {
                           return kind.param == ModelFreeKind::kGraph ? "graph" : "candidates";
                         });

TEST_P(AgentPpo, LearnsOnTheGraphItself) {
  const ToyEnvironment toy(ToyConfig{1, 4, 6});
  AgentPpoTrainer trainer(toy, {0}, small_config(GetParam()), 1);
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

/// A toy whose start states 1 and 3 must not be played.
class HalfClosedToy : public ToyEnvironment {
 public:
  HalfClosedToy() : ToyEnvironment(ToyConfig{2, 4, 8}) {}
  void reset(uint64_t seed) override {
    EXPECT_EQ(seed % 2, 0u) << "start state " << seed % 4;
    ToyEnvironment::reset(seed);
  }
  std::unique_ptr<Environment> fork() const override {
    return std::make_unique<HalfClosedToy>(*this);
  }
};

TEST(AgentPpoTest, TrainsOnTheGivenStartStatesAlone) {
  AgentPpoConfig config = small_config();
  config.batch = 24;
  AgentPpoTrainer trainer(HalfClosedToy(), {0, 2}, config, 1);
  trainer.update(0, 1);
  EXPECT_GE(trainer.counters().resets, 24);
}

/// Plays four episodes with both and holds their actions equal.
void expect_equal(CollectAgent& first, CollectAgent& second) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    ToyEnvironment env(ToyConfig{2, 4, 8});
    env.reset(seed);
    Rng one(seed), two(seed);
    EXPECT_EQ(first.begin(env, one), "ppo");
    second.begin(env, two);
    for (bool over = false; !over;) {
      const Observation observation = env.observe();
      const Action action = first.act(env, observation, one);
      ASSERT_EQ(action, second.act(env, observation, two));
      const StepResult result = env.step(action);
      over = result.terminated || result.truncated;
    }
  }
}

TEST_P(AgentPpo, ActsByTheMaskAndItsForksAndFilesAgree) {
  const TemporaryDirectory directory;
  const ToyEnvironment toy(ToyConfig{2, 4, 8});
  AgentPpoConfig config = small_config(GetParam());
  config.updates = 1;
  config.batch = 2;
  PpoAgentRun run{{0, 1, 2, 3}, 3, directory / "agent.pt"};
  EnvCounters trained, kept;
  const auto agent = make_ppo_agent(toy, config, run, trained);
  EXPECT_EQ(trained.resets, 2);
  expect_equal(*agent, *agent->fork());
  run.resume = true;
  run.seed = 4;  // would make another agent if it were trained again
  const auto again = make_ppo_agent(toy, config, run, kept);
  EXPECT_EQ(kept.steps, trained.steps);
  expect_equal(*agent, *again);
}

TEST(AgentPpoTest, ARandomEncoderStaysAsItIs) {
  for (const char* kind : {"gn", "go", "random"}) {
    AgentPpoConfig config = small_config();
    config.batch = 4;
    config.net.encoder.kind = encoder_kind(kind);
    AgentPpoTrainer trainer(ToyEnvironment(ToyConfig{1, 4, 6}), {0}, config, 1);
    const auto weight = [&](const std::string& name) {
      return trainer.net()->named_parameters()[name].clone();
    };
    const auto encoder = weight("encoder.types.weight"), actor = weight("actor.0.weight");
    trainer.update(0, 1);
    EXPECT_EQ(torch::equal(weight("encoder.types.weight"), encoder), std::string(kind) == "random");
    EXPECT_FALSE(torch::equal(weight("actor.0.weight"), actor));
  }
}

}  // namespace
}  // namespace reverie
