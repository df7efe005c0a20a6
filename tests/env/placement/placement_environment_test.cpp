#include "env/placement/placement_environment.h"

#include <gtest/gtest.h>

#include "env/placement/simulator/grouping.h"
#include "tests/env/conformance.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using testing::EnvironmentCase;
using testing::EnvironmentConformance;

Topology devices_with(int64_t memory) {
  Topology topology = ideal_devices(2, "a");
  topology.devices.push_back({"slow", "b"});
  topology.links.assign(9, Link{.latency = {3}, .bytes_per_second = 1e12, .bus = -1});
  for (Device& device : topology.devices) device.memory_bytes = memory;
  return topology;
}

std::vector<PlacementStart> drawn_starts() {
  std::vector<PlacementStart> starts;
  for (const int size : {6, 11}) {
    Rng rng(static_cast<uint64_t>(size));
    starts.push_back({fmt::format("drawn-{}", size), testing::random_cost_graph(size, rng)});
  }
  starts.push_back({"grouped", grouped(starts.back().graph, 4)});
  return starts;
}

std::unique_ptr<PlacementEnvironment> drawn(PlacementForm form, int64_t memory,
                                            double memory_weight = 0) {
  return std::make_unique<PlacementEnvironment>(
      drawn_starts(), devices_with(memory),
      PlacementEnvConfig{.form = form, .memory_weight = memory_weight});
}

INSTANTIATE_TEST_SUITE_P(
    Placement, EnvironmentConformance,
    ::testing::Values(
        EnvironmentCase{
            "constructive",
            [] { return drawn(PlacementForm::kConstructive, Device::kUnlimited); }, 20, false},
        EnvironmentCase{"constructive_in_little_memory",
                        [] { return drawn(PlacementForm::kConstructive, 60); }, 20, false},
        EnvironmentCase{"improving",
                        [] { return drawn(PlacementForm::kImproving, Device::kUnlimited); }},
        EnvironmentCase{"improving_memory", [] { return drawn(PlacementForm::kImproving, 60, 1); }}),
    testing::environment_case_name);

/// 0 -> 1 -> 2 and 3 -> 4 -> 5 on two equal devices; sending is dear.
std::unique_ptr<PlacementEnvironment> chains(PlacementForm form,
                                             PlacementReward reward = PlacementReward::kRelative) {
  std::vector<CostTensor> tensors;
  for (const int producer : {0, 1, 3, 4})
    tensors.push_back({.producer = producer, .transfer = {50}, .readers = {producer + 1}});
  std::vector<PlacementStart> starts{{"chains", testing::graph_of({10, 10, 10, 10, 10, 10}, tensors)}};
  return std::make_unique<PlacementEnvironment>(std::move(starts), ideal_devices(2, "d"),
                                                PlacementEnvConfig{.form = form, .reward = reward});
}

TEST(PlacementEnvironment, ConstructivePlacesOneGroupAfterTheOther) {
  const auto env = chains(PlacementForm::kConstructive);
  env->reset(0);
  double reward = 0;
  for (int group = 0; group < 6; ++group) {
    const ActionMask mask = env->mask();
    EXPECT_EQ(mask.total(0) + mask.total(1), 2);
    EXPECT_EQ(mask.at(0, group + 1), 1);
    const StepResult result = env->step({group < 3 ? 0 : 1, group + 1, 0});
    reward += result.reward;
    EXPECT_EQ(result.terminated, group == 5);
  }
  EXPECT_EQ(env->outcome().makespan.count, 30);
  EXPECT_DOUBLE_EQ(reward, 50) << "from 60 to 30";
}

TEST(PlacementEnvironment, RewardsAreOfSquareRootsWhereAskedFor) {
  const auto env = chains(PlacementForm::kImproving, PlacementReward::kSquareRoot);
  env->reset(0);
  double reward = 0;
  for (const int group : {4, 5, 6}) reward += env->step({1, group, 0}).reward;
  EXPECT_NEAR(reward, 100 * (1 - std::sqrt(0.5)), 1e-9);
}

TEST(PlacementEnvironment, TheBestStateIsKept) {
  const auto env = chains(PlacementForm::kImproving);
  env->reset(0);
  for (const int group : {4, 5, 6}) env->step({1, group, 0});
  EXPECT_DOUBLE_EQ(env->info().best, env->outcome().makespan.milliseconds());
  const std::vector<int> best = env->placement().device;
  env->step({0, 5, 0});
  EXPECT_GT(env->info().objective(env->spec()), env->info().best);
  EXPECT_EQ(env->best_placement().device, best);
}

TEST(PlacementEnvironment, LevelsDecideWhatRunsFirst) {
  std::vector<PlacementStart> starts{
      {"two", testing::graph_of({10, 10, 30}, {{.producer = 1, .transfer = {1}, .readers = {2}}})}};
  PlacementEnvironment env(std::move(starts), ideal_devices(2, "d"),
                           {.form = PlacementForm::kImproving});
  env.reset(0);
  env.step({1, 3, 0});
  EXPECT_EQ(env.outcome().makespan.count, 41) << "1 has the longer path behind it";
  env.step({2, 1, 0});
  EXPECT_EQ(env.outcome().makespan.count, 51) << "0 was raised above it";
  env.step({3, 1, 0});
  EXPECT_EQ(env.outcome().makespan.count, 41);
}

TEST(PlacementEnvironment, FeaturesSayWhereAGroupIsAndWhatIsSent) {
  const auto env = chains(PlacementForm::kImproving);
  env->reset(0);
  env->step({1, 2, 0});  // node 1 leaves its chain
  const EnvSpec& spec = env->spec();
  const GraphFeatures graph = env->observe().graph;
  const auto column = [](const std::vector<std::string>& names, const char* name) {
    return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
  };
  const size_t width = spec.node_features.size(), sent = column(spec.edge_features, "sent");
  const std::string other = "on " + env->topology().devices[1].name;
  for (int group = 0; group < 6; ++group)
    EXPECT_EQ(graph.nodes[static_cast<size_t>(group + 2) * width +
                          column(spec.node_features, other.c_str())],
              group == 1 ? 1 : 0);
  float all_sent = 0;
  for (int edge = 0; edge < graph.edge_count(); ++edge)
    all_sent += graph.edges[static_cast<size_t>(edge) * spec.edge_features.size() + sent];
  EXPECT_EQ(all_sent, 2) << "0 to 1 and 1 to 2";
}

}  // namespace
}  // namespace reverie
