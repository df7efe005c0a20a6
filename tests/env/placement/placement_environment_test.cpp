#include "env/placement/placement_environment.h"

#include <gmock/gmock.h>

#include "env/placement/graph/generator.h"
#include "env/placement/simulator/grouping.h"
#include "tests/env/conformance.h"
#include "tests/env/placement/expect_refused.h"
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

/// A generated graph in a few groups, which may be fused.
std::unique_ptr<PlacementEnvironment> fusing(PlacementForm form) {
  std::vector<PlacementStart> starts;
  for (const char* family : {"layers", "branches"})
    starts.push_back(
        {family, grouped(generate_graph({.family = family, .nodes = 100, .seed = 1}), 9)});
  return std::make_unique<PlacementEnvironment>(std::move(starts), read_topology("2xv100-nvlink"),
                                                PlacementEnvConfig{.form = form, .fusion = true});
}

/// A run that the simulator does not foresee: what runs on the last device takes three times as
/// long.
Picoseconds strange_run(const Timeline& timeline) {
  int last = 0;
  Picoseconds end, more;
  for (const Timeline::Run& run : timeline.runs) {
    end = std::max(end, run.end);
    if (run.device > last) more = {};
    last = std::max(last, run.device);
    if (run.device == last && last > 0) more = {more.count + 2 * (run.end.count - run.start.count)};
  }
  return {end.count + more.count};
}

std::unique_ptr<PlacementEnvironment> measured(PlacementForm form) {
  std::vector<PlacementStart> starts = drawn_starts();
  for (PlacementStart& start : starts) start.measure = strange_run;
  return std::make_unique<PlacementEnvironment>(std::move(starts), devices_with(Device::kUnlimited),
                                                PlacementEnvConfig{.form = form});
}

INSTANTIATE_TEST_SUITE_P(
    Placement, EnvironmentConformance,
    ::testing::Values(
        EnvironmentCase{"constructive",
                        [] { return drawn(PlacementForm::kConstructive, Device::kUnlimited); }, 20,
                        false},
        EnvironmentCase{"constructive_in_little_memory",
                        [] { return drawn(PlacementForm::kConstructive, 60); }, 20, false},
        EnvironmentCase{"improving",
                        [] { return drawn(PlacementForm::kImproving, Device::kUnlimited); }},
        EnvironmentCase{"improving_memory", [] { return drawn(PlacementForm::kImproving, 60, 1); }},
        EnvironmentCase{"constructive_fusion", [] { return fusing(PlacementForm::kConstructive); },
                        20, false},
        EnvironmentCase{"measured", [] { return measured(PlacementForm::kConstructive); }, 20,
                        false},
        EnvironmentCase{"measured_improving", [] { return measured(PlacementForm::kImproving); }},
        EnvironmentCase{"improving_fusion", [] { return fusing(PlacementForm::kImproving); }}),
    testing::environment_case_name);

/// 0 -> 1 -> 2 and 3 -> 4 -> 5 on two equal devices; sending is dear.
std::unique_ptr<PlacementEnvironment> chains(PlacementForm form,
                                             PlacementReward reward = PlacementReward::kRelative) {
  std::vector<CostTensor> tensors;
  for (const int producer : {0, 1, 3, 4})
    tensors.push_back({.producer = producer, .transfer = {50}, .readers = {producer + 1}});
  std::vector<PlacementStart> starts{
      {"chains", testing::graph_of({10, 10, 10, 10, 10, 10}, tensors)}};
  return std::make_unique<PlacementEnvironment>(std::move(starts), ideal_devices(2, "d"),
                                                PlacementEnvConfig{.form = form, .reward = reward});
}

TEST(PlacementEnvironment, ConstructivePlacesOneGroupAfterTheOtherAndJudgesAllInTheEnd) {
  const auto env = chains(PlacementForm::kConstructive);
  env->reset(0);
  for (const int group : {0, 3, 1, 4, 2, 5}) {  // those with most nodes behind them first
    const ActionMask mask = env->mask();
    EXPECT_EQ(mask.total(0) + mask.total(1), 2);
    EXPECT_EQ(mask.at(0, group + 1), 1);
    EXPECT_EQ(env->counters().cost_lookups, 0);
    const StepResult result = env->step({group < 3 ? 0 : 1, group + 1, 0});
    EXPECT_EQ(result.terminated, group == 5);
    EXPECT_NEAR(result.reward, group < 3 ? 0 : 50 / 3.0, 1e-9) << "planned from 60 to 30";
  }
  EXPECT_EQ(env->outcome().makespan.count, 30);
  EXPECT_EQ(env->counters().cost_lookups, 1);
}

TEST(PlacementEnvironment, PlannedRewardsAndTheLastAreWhatThePlacementGains) {
  for (const auto reward : {PlacementReward::kRelative, PlacementReward::kSquareRoot}) {
    const auto env = chains(PlacementForm::kConstructive, reward);
    env->reset(0);
    double sum = 0;
    for (const int group : {0, 3, 1, 4, 2, 5})  // 1 waits for 0 on the other device
      sum += env->step({group == 1 || group > 3 ? 1 : 0, group + 1, 0}).reward;
    const double ratio = static_cast<double>(env->outcome().makespan.count) / 60;
    EXPECT_GT(ratio, 1);
    EXPECT_NEAR(sum, 100 * (1 - (reward == PlacementReward::kRelative ? ratio : std::sqrt(ratio))),
                1e-9);
  }
}

TEST(PlacementEnvironment, WhatIsNotPlacedWhenTheEpisodeEndsStaysAtTheStart) {
  const auto env = chains(PlacementForm::kConstructive);
  env->reset(0);
  env->step({1, 1, 0});
  const StepResult result = env->step({env->spec().no_op(), 0, 0});
  EXPECT_TRUE(result.terminated);
  EXPECT_EQ(env->placement().device, (std::vector<int>{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(env->outcome().makespan.count, 80) << "0's reader waits until 60";
  EXPECT_LT(result.reward, 0);
  EXPECT_DOUBLE_EQ(env->info().best, 60e-9) << "the start";
}

TEST(PlacementEnvironment, StatesShowAPlanOfWhatWasPlaced) {
  const auto env = chains(PlacementForm::kConstructive);
  env->reset(0);
  const EnvSpec& spec = env->spec();
  const auto ends = [&] {
    const GraphFeatures graph = env->observe().graph;
    const auto end = static_cast<size_t>(std::ranges::find(spec.node_features, "end") -
                                         spec.node_features.begin());
    std::vector<float> ends;
    for (size_t group = 2; group < 8; ++group)
      ends.push_back(graph.nodes[group * spec.node_features.size() + end]);
    return ends;
  };
  EXPECT_EQ(ends(), std::vector<float>(6));
  for (const int group : {0, 3, 1}) env->step({group < 3 ? 0 : 1, group + 1, 0});
  const std::vector<float> after = ends(), expected = {10, 20, 0, 10, 0, 0};
  for (size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(after[i], expected[i] / 60) << i;
}

TEST(PlacementEnvironment, RewardsAreOfSquareRootsWhereAskedFor) {
  const auto env = chains(PlacementForm::kImproving, PlacementReward::kSquareRoot);
  env->reset(0);
  double reward = 0;
  for (const int group : {4, 5, 6}) reward += env->step({1, group, 0}).reward;
  EXPECT_NEAR(reward, 100 * (1 - std::sqrt(0.5)), 1e-9);
}

/// As `chains`, with two starts of the same structure and other costs, and runs that take `takes`.
std::unique_ptr<PlacementEnvironment> measured_chains(MeasureSchedule takes) {
  std::vector<PlacementStart> starts;
  for (const int64_t time : {10, 12})
    starts.push_back({fmt::format("chains{}", time),
                      testing::graph_of({time, time, time, time},
                                        {{.producer = 0, .transfer = {50}, .readers = {1}},
                                         {.producer = 2, .transfer = {50}, .readers = {3}}}),
                      takes});
  return std::make_unique<PlacementEnvironment>(std::move(starts), ideal_devices(2, "d"),
                                                PlacementEnvConfig{});
}

TEST(PlacementEnvironment, MeasuredMakespansAreRewardedAndSimulatedOnesAreShown) {
  int runs = 0;
  const auto env = measured_chains([&](const Timeline& timeline) {
    ++runs;
    for (const Timeline::Run& run : timeline.runs)
      if (run.device == 1) return Picoseconds{70};
    return Picoseconds{100};
  });
  EXPECT_FALSE(env->spec().deterministic);
  EXPECT_EQ(env->spec().starts[0].fingerprint, env->spec().starts[1].fingerprint);
  const int before = runs;
  const auto place = [&](std::vector<int> devices) {
    env->reset(0);
    StepResult last;
    double reward = 0;
    for (const int entity : {1, 3, 2, 4}) {  // 0 and 2 have one node behind them
      last = env->step({devices[static_cast<size_t>(entity - 1)], entity, 0});
      reward += last.reward;
    }
    EXPECT_TRUE(last.terminated);
    return reward;
  };
  EXPECT_NEAR(place({0, 0, 0, 0}), 0, 1e-9) << "where all are";
  EXPECT_EQ(runs, before) << "nothing to measure";
  EXPECT_EQ(env->counters().measurements, 0);
  const std::vector<float> shown = env->observe().graph.graph_targets;
  EXPECT_NEAR(place({0, 1, 0, 0}), 30, 1e-9) << "slower by the simulator";
  EXPECT_EQ(env->counters().measurements, 2) << "the start, too";
  EXPECT_EQ(env->outcome().makespan.count, 70);
  EXPECT_GT(env->observe().graph.graph_targets[0], shown[0]);
  EXPECT_EQ(env->best_placement().device, (std::vector<int>{0, 1, 0, 0}));
  EXPECT_NEAR(env->measured_gain(), 30, 1e-9);
  EXPECT_EQ(env->counters().measurements, 12);
}

TEST(PlacementEnvironment, MeasuredRewardsDoNotDependOnHowFastTheMachineIsAtTheTime) {
  int64_t slowness = 1;
  const auto env = measured_chains([&](const Timeline& timeline) {
    const bool uses_both = std::ranges::any_of(
        timeline.runs, [](const Timeline::Run& run) { return run.device == 1; });
    return Picoseconds{slowness * (uses_both ? 70 : 100)};
  });
  for (slowness = 1; slowness < 4; ++slowness) {
    env->reset(0);
    double reward = 0;
    for (const int entity : {1, 3, 2, 4}) reward += env->step({entity % 2, entity, 0}).reward;
    EXPECT_NEAR(reward, 30, 1e-9);
  }
}

TEST(PlacementEnvironment, KnownDynamicsOfAMeasuredOneArePaidByTheSimulator) {
  const auto env_by = [](PlacementForm form, MeasureSchedule takes) {
    std::vector<PlacementStart> starts{
        {"chain", testing::graph_of({10, 10}, {{.producer = 0, .transfer = {50}, .readers = {1}}}),
         std::move(takes)}};
    return std::make_unique<PlacementEnvironment>(std::move(starts), ideal_devices(2, "d"),
                                                  PlacementEnvConfig{.form = form});
  };
  for (const PlacementForm form : {PlacementForm::kConstructive, PlacementForm::kImproving}) {
    const auto simulated = env_by(form, {});
    int runs = 0;
    const auto measured = env_by(form, [&](const Timeline&) { return Picoseconds{100 + runs++}; });
    simulated->reset(0);
    measured->reset(0);
    const int before = runs;
    std::unique_ptr<KnownDynamics> known = measured->known();
    for (const Action& action : {Action{1, 1, 0}, Action{1, 2, 0}}) {
      EXPECT_DOUBLE_EQ(known->step(action).reward.value(), simulated->step(action).reward);
      EXPECT_EQ(runs, before) << "nothing is measured";
    }
    measured->step({1, 1, 0});
    known = measured->known();
    EXPECT_EQ(known->mask(), measured->mask());
    const int after = runs;
    simulated->reset(0);
    simulated->step({1, 1, 0});
    EXPECT_DOUBLE_EQ(known->step({1, 2, 0}).reward.value(), simulated->step({1, 2, 0}).reward);
    EXPECT_EQ(runs, after) << "from the middle of an episode, either";
  }
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

TEST(PlacementEnvironment, EachGroupInTurnMayBeFusedAndThenIsPlaced) {
  const auto env = fusing(PlacementForm::kConstructive);
  const int fuse = env->spec().no_op() - 1;
  EXPECT_EQ(env->spec().actions[static_cast<size_t>(fuse)], "fuse");
  env->reset(0);
  const Picoseconds start = env->outcome().makespan;
  int fused = 0, placed = 0;
  while (true) {
    const ActionMask mask = env->mask();
    int entity = 1;
    while (mask.at(0, entity) == 0) ++entity;
    const bool may_fuse = mask.at(fuse, entity) > 0;
    EXPECT_EQ(mask.total(fuse), may_fuse ? 1 : 0) << "only of the group whose turn it is";
    fused += may_fuse ? 1 : 0;
    placed += may_fuse ? 0 : 1;
    if (env->step({may_fuse ? fuse : 0, entity, 0}).terminated) break;
  }
  EXPECT_EQ(placed, PlacementEntities(env->graph()).size());
  EXPECT_GT(fused, placed / 2);
  EXPECT_LT(env->outcome().makespan, start);
  FusingSimulator simulator(env->graph(), env->topology());
  EXPECT_EQ(simulator.run(env->placement()), env->outcome());
  EXPECT_EQ(simulator.run(env->best_placement()).makespan.milliseconds(), env->info().best);
  Placement unfused = env->placement();
  unfused.kernel.clear();
  EXPECT_EQ(simulator.run(unfused).makespan, start);
}

TEST(PlacementEnvironment, FusionIsSeenAndIsAskedForOnce) {
  const auto env = fusing(PlacementForm::kImproving);
  const EnvSpec& spec = env->spec();
  const int fuse = spec.no_op() - 1;
  env->reset(0);
  const Observation before = env->observe();
  int entity = 1;
  while (before.mask.at(fuse, entity) == 0) ++entity;
  env->step({fuse, entity, 0});
  const Observation after = env->observe();
  EXPECT_EQ(after.mask.at(fuse, entity), 0);
  EXPECT_NE(before.state_key, after.state_key);
  EXPECT_EQ(spec.node_features.back(), "fused");
  const size_t last = (static_cast<size_t>(entity) + 2) * spec.node_features.size() - 1;
  EXPECT_EQ(before.graph.nodes[last], 0);
  EXPECT_EQ(after.graph.nodes[last], 1);
}

TEST(PlacementEnvironment, FusionIsRefusedWhereCostsHaveNoParts) {
  testing::expect_refused(
      [] { PlacementEnvironment(drawn_starts(), devices_with(100), {.fusion = true}); },
      "cannot be fused: it gives costs, but not what they are made of");
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

TEST(PlacementEnvironment, EdgesLeadFromEachGroupToTheNextAndFromTheDevicesToTheOneThatComes) {
  const auto env = chains(PlacementForm::kConstructive);
  env->reset(0);
  env->step({1, 1, 0});
  const std::vector<std::string>& names = env->spec().edge_features;
  const GraphFeatures graph = env->observe().graph;
  std::vector<std::pair<int, int>> follows, holds, offers;
  for (int edge = 0; edge < graph.edge_count(); ++edge) {
    const auto value = [&](const char* name) {
      return graph.edges[static_cast<size_t>(edge) * names.size() +
                         static_cast<size_t>(std::ranges::find(names, name) - names.begin())];
    };
    const int from = graph.senders[static_cast<size_t>(edge)];
    const int to = graph.receivers[static_cast<size_t>(edge)];
    if (value("follows") == 1) follows.emplace_back(from - 2, to - 2);
    if (value("holds") == 1) holds.emplace_back(from - 2, to);
    if (from < 2 && to >= 2) offers.emplace_back(from, to - 2);
  }
  using ::testing::UnorderedElementsAre;
  using Edge = std::pair<int, int>;
  EXPECT_THAT(follows,
              UnorderedElementsAre(Edge{0, 3}, Edge{3, 1}, Edge{1, 4}, Edge{4, 2}, Edge{2, 5}));
  EXPECT_THAT(holds, UnorderedElementsAre(Edge{0, 1}));
  EXPECT_THAT(offers, UnorderedElementsAre(Edge{0, 3}, Edge{1, 3}));
}

/// What an observation tells of a place.
float told(const Environment& env, const char* feature, const Action& action) {
  const std::vector<std::string>& names = env.spec().action_features;
  const auto column = static_cast<size_t>(std::ranges::find(names, feature) - names.begin());
  const Observation seen = env.observe();
  const auto row = static_cast<size_t>(action.primary * seen.mask.entities + action.entity);
  return seen.action_features.at(row * names.size() + column);
}

TEST(PlacementEnvironment, ActionsTellWhenAGroupWouldEndBehindThoseThatWerePlaced) {
  const auto env = chains(PlacementForm::kConstructive);
  env->reset(0);
  for (const int primary : {0, 1}) EXPECT_EQ(told(*env, "end", {primary, 1, 0}), 0);
  env->step({1, 1, 0});  // group 4, the first of the other chain, comes next
  const float later = std::log1p(10.0f / 10);
  EXPECT_EQ(told(*env, "end", {0, 4, 0}), 0);
  EXPECT_FLOAT_EQ(told(*env, "end", {1, 4, 0}), later);
  env->step({0, 4, 0});
  const float sent = std::log1p(50.0f / 10);
  EXPECT_FLOAT_EQ(told(*env, "end", {0, 2, 0}), sent);
  EXPECT_EQ(told(*env, "end", {1, 2, 0}), 0);
}

TEST(PlacementEnvironment, WhereGroupsAreMovedActionsTellOfThoseBefore) {
  const auto env = chains(PlacementForm::kImproving);
  env->reset(0);
  const float behind_first = std::log1p(10.0f / 10), sent = std::log1p(40.0f / 10);
  EXPECT_FLOAT_EQ(told(*env, "start", {1, 2, 0}), sent) << "from 20 to 60";
  env->step({1, 4, 0});
  EXPECT_FLOAT_EQ(told(*env, "start", {0, 4, 0}), behind_first) << "group 1 alone is before it";
  EXPECT_EQ(told(*env, "start", {1, 1, 0}), 0);
}

}  // namespace
}  // namespace reverie
