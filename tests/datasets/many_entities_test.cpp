#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/hash.h"
#include "datasets/collect.h"
#include "datasets/state_table.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

constexpr int kEntities = 2000;
constexpr uint8_t kHighest = 3;

/// 2,000 columns in a row, each an entity that is raised by 1, 2 or 3 or lowered by 1. Every
/// seventh can be raised from the start, and each that follows one that was.
class Columns : public Environment {
 public:
  Columns() {
    spec_.name = "columns";
    spec_.node_types = {"column", "end"};
    spec_.node_features = {"height", "place"};
    spec_.edge_features = {"slope"};
    spec_.action_features = {"height"};
    spec_.actions = {"raise", "lower", "NO-OP"};
    spec_.metrics = {{"sum", "m"}};
    spec_.less_is_better = false;
    spec_.max_choices = kHighest;
    spec_.horizon = 12;
    spec_.starts = {{"flat", 1}};
    spec_.source = "none";
  }

  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t) override {
    heights_.assign(kEntities, 0);
    steps_ = 0;
  }
  StepResult step(const Action& action) override {
    require_allowed(spec_, mask(), action);
    uint8_t& height = heights_[static_cast<size_t>(action.entity)];
    if (action.primary == 0) height = static_cast<uint8_t>(height + action.index + 1);
    if (action.primary == 1) --height;
    const bool no_op = action.primary == 2;
    return {1.0, no_op, ++steps_ >= spec_.horizon && !no_op, info()};
  }
  Observation observe() const override {
    Observation observation;
    GraphFeatures& graph = observation.graph;
    for (int i = 0; i < kEntities; ++i) {
      graph.node_types.push_back(i + 1 == kEntities);
      graph.node_entities.push_back(kEntities - 1 - i);
      graph.nodes.insert(graph.nodes.end(), {height(i), static_cast<float>(i % 32) / 32});
      if (i == 0) continue;
      graph.senders.push_back(i - 1);
      graph.receivers.push_back(i);
      graph.edges.push_back(height(i) - height(i - 1));
    }
    observation.mask = mask();
    for (int primary = 0; primary < 3; ++primary)
      for (int i = 0; i < kEntities; ++i)
        observation.action_features.push_back(observation.mask.at(primary, i) > 0 ? height(i) + 1
                                                                                  : 0);
    observation.state_key = hash_bytes(heights_.data(), heights_.size());
    return observation;
  }
  ActionMask mask() const override {
    ActionMask mask(3, kEntities);
    for (int i = 0; i < kEntities; ++i) {
      const uint8_t own = heights_[static_cast<size_t>(i)];
      if (i % 7 == 6 || (i > 0 && height(i - 1) > 0))
        mask.at(0, i) = static_cast<uint16_t>(kHighest - own);
      if (own > 0) mask.at(1, i) = 1;
    }
    return mask;
  }
  StepInfo info() const override {
    const double steps = steps_;
    return {{steps}, true, steps};
  }
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override { return std::make_unique<Columns>(*this); }

 private:
  float height(int i) const { return heights_[static_cast<size_t>(i)]; }

  EnvSpec spec_;
  std::vector<uint8_t> heights_ = std::vector<uint8_t>(kEntities);
  int steps_ = 0;
  EnvCounters counters_;
};

TEST(ManyEntities, AStateComesBackFromTheTableAsItWas) {
  Columns env;
  env.reset(0);
  env.step({0, 1448, 2});
  env.step({0, 1449, 0});
  env.step({1, 1448, 0});
  const Observation seen = env.observe();
  EXPECT_EQ(seen.mask.at(0, kEntities - 6), 3) << "the last that can be raised";
  StateTableBuilder states(env.spec());
  states.add(encode_state(env.spec(), seen));
  const StateTable table = states.take();
  EXPECT_EQ(table.entities(0), static_cast<uint32_t>(kEntities));
  EXPECT_EQ(table.decode(0), seen);
}

TEST(ManyEntities, RolloutsComeBackFromDiskAsTheyWere) {
  const TemporaryDirectory directory;
  Columns env;
  CollectConfig config;
  config.episodes = 4;
  config.shard_episodes = 2;
  collect(env, *make_random_agent(config), config,
          {.directory = directory.path(), .seed = 3, .config = ""});
  const Rollouts rollouts = Rollouts::open(directory.path());
  int highest = 0;
  for (const Episode& episode : rollouts.episodes()) {
    env.reset(episode.seed);
    for (const Transition& step : episode.steps) {
      EXPECT_EQ(rollouts.state(step.state), env.observe());
      highest = std::max(highest, step.action.entity);
      EXPECT_NO_THROW(env.step(step.action));
    }
    EXPECT_EQ(rollouts.state(episode.final_state), env.observe());
  }
  EXPECT_GT(highest, 255) << "more than a byte holds";
}

}  // namespace
}  // namespace reverie
