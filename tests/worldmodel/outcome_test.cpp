#include "worldmodel/memory/outcome.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "tests/support/memory_episodes.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie {
namespace {

constexpr int kStarts = 3;

EnvSpec spec_of_levels() {
  EnvSpec spec;
  spec.name = "levels";
  spec.node_types = {"node"};
  spec.actions = {"go on", "NO-OP"};
  for (const char* name : {"done", "x", "seen"})
    spec.targets.push_back({name, TargetLevel::kGraph, TargetLoss::kRegression});
  spec.metrics = {{"reward", ""}};
  spec.horizon = 2;
  for (int start = 0; start < kStarts; ++start)
    spec.starts.push_back({"start " + std::to_string(start), static_cast<uint64_t>(start) + 1});
  spec.source = "none";
  spec.reward_at_end = spec.knows_dynamics = true;
  spec.learned = {"seen"};
  return spec;
}

int32_t add_state(MemoryEpisodes& data, std::vector<float> targets) {
  Observation state;
  state.graph.node_types = {0};
  state.graph.node_entities = {0};
  state.mask = ActionMask(2, 1);
  state.state_key = hash_bytes(targets.data(), targets.size() * sizeof(float));
  state.graph.graph_targets = std::move(targets);
  return data.add_state(std::move(state));
}

/// Episodes of two steps. The first leads to x, and to a learned column that is 2 x above what it
/// was, or what nobody can know; the second to its end, where the reward is 3 x and a level that
/// only the start decides.
MemoryEpisodes episodes_of_levels(int count, bool unknowable = false) {
  MemoryEpisodes data(spec_of_levels());
  Rng rng(4);
  for (int i = 0; i < count; ++i) {
    Episode episode;
    episode.start_graph = i % kStarts;
    const float x = static_cast<float>(rng.uniform(-1, 1));
    const float level = 100.0f * static_cast<float>(episode.start_graph);
    const float before = static_cast<float>(rng.uniform(-1, 1));
    const float after = before + (unknowable ? static_cast<float>(rng.uniform(-1, 1)) : 2 * x);
    episode.steps.resize(2);
    episode.steps[0].state = add_state(data, {0, 0, before});
    episode.steps[1].state = add_state(data, {0.5f, x, after});
    episode.steps[1].reward = level + 3 * x;
    episode.steps[1].terminated = true;
    episode.final_state = add_state(data, {1, x, 50 * after});
    data.add_episode(episode, Split::kTrain);
  }
  return data;
}

OutcomeConfig exact() {
  OutcomeConfig config;
  config.steps = 400;
  config.weight_decay = 0.01;
  return config;
}

TEST(Outcome, LearnsWhatGainsMoreWithinAStart) {
  auto outcome = train_outcome(episodes_of_levels(90), exact(), 1);
  const auto said = outcome->predict(torch::tensor({{1.0f, -0.8f, 0.2f}, {1.0f, 0.8f, 0.2f}}));
  ASSERT_EQ(said.reward.sizes(), (std::vector<int64_t>{5, 2}));
  for (int member = 0; member < 5; ++member)
    EXPECT_NEAR((said.reward[member][1] - said.reward[member][0]).item<float>(), 3 * 1.6, 0.5)
        << "levels are 100 apart";
  EXPECT_NEAR(said.reward.mean().item<float>(), 100, 10) << "their mean";
}

TEST(Outcome, LearnsChangesOfLearnedColumnsFromThoseBeforeTheStep) {
  auto outcome = train_outcome(episodes_of_levels(90), exact(), 1);
  for (const float x : {-0.7f, 0.1f, 0.6f}) {
    const auto said = outcome->predict(torch::tensor({{0.5f, x, 0.3f}}));
    EXPECT_NEAR(said.learned[0][0].item<float>(), 0.3f + 2 * x, 0.25f) << x;
  }
}

TEST(Outcome, IsNotShownWhatTheStepTells) {
  OutcomeConfig config = exact();
  config.weight_decay = 0.5;
  auto outcome = train_outcome(episodes_of_levels(900, /*unknowable=*/true), config, 1);
  const auto said = outcome->predict(torch::tensor({{0.5f, 0.1f, 0.8f}, {0.5f, 0.1f, -0.8f}}));
  EXPECT_NEAR((said.learned[0][0] - said.learned[1][0]).item<float>(), 1.6f, 0.4f)
      << "2.4, if it were";
}

TEST(Outcome, MembersDrawTheirEpisodes) {
  auto outcome = train_outcome(episodes_of_levels(30), OutcomeConfig(), 1);
  const auto said = outcome->predict(torch::tensor({{1.0f, 0.5f, 0.2f}}));
  EXPECT_GT(said.reward.std().item<float>(), 0);
}

TEST(Outcome, EqualSeedsGiveEqualBytesAndOthersDoNot) {
  const MemoryEpisodes data = episodes_of_levels(12);
  const auto bytes = [&](uint64_t seed) {
    Checkpoint checkpoint;
    store_module(checkpoint, "outcome", *train_outcome(data, OutcomeConfig(), seed));
    return hash_of_tensors(checkpoint);
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
}

TEST(Outcome, OneEpisodeIsEnoughToBeDefined) {
  auto outcome = train_outcome(episodes_of_levels(1), OutcomeConfig(), 1);
  const auto said = outcome->predict(torch::tensor({{1.0f, 0.5f, 0.2f}}));
  EXPECT_TRUE(said.reward.isfinite().all().item<bool>());
  EXPECT_TRUE(said.learned.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace reverie
