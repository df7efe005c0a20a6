#include "datasets/rollout_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datasets/collect.h"
#include "env/toy/toy_environment.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

TEST(RolloutSummary, CountsWhatTheEpisodesHold) {
  const ToyEnvironment env({.blocks = 3, .start_states = 2, .horizon = 0});
  const TemporaryDirectory directory;
  CollectConfig config;
  config.agent = "random";
  config.episodes = 20;
  config.no_op = 0.2;
  collect(env, *make_collect_agent(config), config,
          {.directory = directory.path(), .seed = 4, .config = ""});
  const Rollouts rollouts = Rollouts::open(directory.path());
  const RolloutSummary summary = summarize(rollouts);
  int64_t steps = 0, no_ops = 0, last_no_ops = 0;
  double rewards = 0, least = 1e9;
  for (const Episode& episode : rollouts.episodes()) {
    for (const Transition& step : episode.steps) {
      ++steps;
      no_ops += step.action.primary == env.spec().no_op();
      rewards += step.reward;
      least = std::min<double>(least, step.reward);
    }
    last_no_ops += episode.steps.back().action.primary == env.spec().no_op();
  }
  EXPECT_EQ(summary.steps, steps);
  EXPECT_EQ(summary.states, rollouts.state_count());
  EXPECT_EQ(summary.splits, (std::array{16, 2, 2}));
  EXPECT_EQ(summary.actions.back(), no_ops);
  EXPECT_EQ(summary.no_op_ends, last_no_ops);
  EXPECT_GT(summary.no_op_ends, 0);
  EXPECT_EQ(summary.no_op_ends + summary.finished_ends + summary.horizon_ends, 20);
  EXPECT_NEAR(summary.reward.mean, rewards / static_cast<double>(steps), 1e-9);
  EXPECT_NEAR(summary.episode_return.mean, rewards / 20, 1e-9);
  EXPECT_EQ(summary.reward.least, least);
  EXPECT_EQ(summary.graphs[0].episodes, 10);
  EXPECT_EQ(summary.graphs[0].steps + summary.graphs[1].steps, steps);
  EXPECT_EQ(summary.agents.at("random").episodes, 20);
  const std::string text = describe(rollouts.info(), summary);
  EXPECT_THAT(text, HasSubstr("20 of 20 planned: 16 for training"));
  EXPECT_THAT(text, HasSubstr("  toy-1"));
  EXPECT_THAT(text, HasSubstr(fmt::format("{:<36} {:>9}", "NO-OP", no_ops)));
}

}  // namespace
}  // namespace reverie
