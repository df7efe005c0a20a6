#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/models/models.h"
#include "core/rules/pattern.h"
#include "env/rewrite/features.h"
#include "env/rewrite/rewrite_environment.h"
#include "tests/env/conformance.h"
#include "tests/support/random_graph.h"
#include "tests/support/rewrite_checks.h"

namespace reverie {

// Of its header only the checks are used here.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EnvironmentConformance);

namespace {

using NodeRegions = std::map<NodeId, int>;
constexpr int kMostRegions = 64;

/// Values that cross the cuts, summed over the cuts; constants apart.
int live_over_cuts(const Graph& graph, const std::function<int(NodeId)>& region) {
  int live = 0;
  for (const NodeId node : graph.nodes()) {
    if (graph.is_constant(node)) continue;
    for (const ValueId value : graph.outputs(node)) {
      int last = region(node);
      for (const NodeId user : graph.users(value)) last = std::max(last, region(user));
      live += last - region(node);
    }
  }
  return live;
}

/// The least of that over all ways to cut the rest, from work node `begin` on, into runs.
int least_live(const Graph& graph, const std::vector<NodeId>& order, int least, int most,
               std::vector<int> begins, int work) {
  if (begins.back() == work) {
    std::map<NodeId, int> region;
    int before = 0;
    for (const NodeId node : order) {
      const auto next = std::upper_bound(begins.begin(), begins.end() - 1, before);
      region[node] = static_cast<int>(next - begins.begin());
      before += graph.is_work(node);
    }
    return live_over_cuts(graph, [&](NodeId node) { return region.at(node); });
  }
  int found = 1 << 30;
  for (int size = least; size <= most && begins.back() + size <= work; ++size) {
    std::vector<int> longer = begins;
    longer.push_back(begins.back() + size);
    found = std::min(found, least_live(graph, order, least, most, std::move(longer), work));
  }
  return found;
}

TEST(RegionsProperty, NoOtherCuttingHasFewerLiveValues) {
  int cut = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Graph graph = RandomGraph::make(seed, 14);
    graph.erase_dead();
    const auto order = graph.topological_order();
    const auto work = static_cast<int>(
        std::ranges::count_if(order, [&](NodeId node) { return graph.is_work(node); }));
    const Regions regions(graph, 6, kMostRegions);
    if (work <= 3 || work > 20) continue;
    const int live = live_over_cuts(graph, [&](NodeId node) { return regions.of(node); });
    EXPECT_EQ(live, least_live(graph, order, 3, 6, {0}, work)) << seed;
    cut += regions.count() > 1;
  }
  EXPECT_GT(cut, 20);
}

RewriteEnvConfig cut(int region_nodes) {
  RewriteEnvConfig config;
  config.horizon = 30;
  config.region_nodes = region_nodes;
  return config;
}

std::unique_ptr<RewriteEnvironment> environment(const char* name, RewriteEnvConfig config) {
  ModelOptions options;
  options.light = true;
  if (std::string(name) == "bert_base") options.layers = 2;
  std::vector<StartGraph> starts;
  starts.push_back({name, build_model(name, options)});
  return std::make_unique<RewriteEnvironment>(std::move(starts),
                                              std::make_shared<const RuleSet>(RuleSet::builtin()),
                                              make_cost_model("roofline:t4"), config);
}

/// The regions of the nodes that features have rows of, in their order.
std::vector<int32_t> in_rows(const Graph& graph, const NodeRegions& regions) {
  std::vector<int32_t> rows;
  for (const NodeId node : graph.topological_order())
    if (!graph.is_constant(node)) rows.push_back(regions.at(node));
  return rows;
}

/// The lowest region of a node that makes an output which the match maps.
int region_of(const RewriteState& state, const Match& match, const NodeRegions& regions) {
  const RulePattern& pattern = state.rules()[match.rule].pattern();
  int lowest = regions.at(match.root);
  for (size_t op = 0; op < pattern.source.size(); ++op)
    for (const MappedOutput& output : pattern.outputs)
      if (pattern.values[static_cast<size_t>(output.source)].producer == static_cast<int>(op))
        lowest = std::min(lowest, regions.at(match.nodes()[op]));
  return lowest;
}

/// Takes a rewrite; what comes lies with the match, everything else stays.
void replay_step(RewriteState& state, const RewriteStep& step, NodeRegions& regions) {
  const Match match = state.location(step.rule, step.location);
  const int region = region_of(state, match, regions);
  state.commit(state.propose(match));
  for (const NodeId node : state.graph().nodes()) regions.emplace(node, region);
}

NodeRegions regions_of(const RewriteEnvironment& env, const RewriteState& start, int region_nodes) {
  RewriteState state = start;
  const Regions cut(state.graph(), region_nodes, kMostRegions);
  NodeRegions regions;
  for (const NodeId node : state.graph().nodes()) regions.emplace(node, cut.of(node));
  for (const RewriteStep& step : env.path()) replay_step(state, step, regions);
  return regions;
}

/// Counts by region of the locations of the rules.
void expect_counts(const RewriteEnvironment& env, const NodeRegions& regions,
                   const ActionMask& mask) {
  for (int rule = 0; rule < env.state().rules().size(); ++rule) {
    std::vector<uint16_t> expected(static_cast<size_t>(mask.entities), 0);
    for (int i = 0; i < mask.total(rule); ++i)
      ++expected[static_cast<size_t>(
          region_of(env.state(), env.state().location(rule, i), regions))];
    EXPECT_TRUE(std::ranges::equal(expected, mask.of(rule))) << rule;
  }
}

class RegionsOfModels : public ::testing::TestWithParam<const char*> {};

TEST_P(RegionsOfModels, AreThoseOfTheReplayedSteps) {
  constexpr int kNodes = 12;
  const auto env = environment(GetParam(), cut(kNodes));
  const RewriteState start = env->state();
  ASSERT_GT(env->mask().entities, 2);
  testing::play(*env, 5, 0.0, [&](const StepResult&) {
    const Observation observation = env->observe();
    testing::check_observation(*env, observation);
    const NodeRegions regions = regions_of(*env, start, kNodes);
    EXPECT_EQ(observation.graph.node_entities, in_rows(env->state().graph(), regions));
    expect_counts(*env, regions, observation.mask);
  });
  EXPECT_GT(env->path().size(), 3u);
}

/// What is kept from state to state is what would be computed anew.
TEST_P(RegionsOfModels, AStateShowsTheSameWhetherOrNotThoseBeforeItWereSeen) {
  const auto env = environment(GetParam(), cut(12)), fresh = environment(GetParam(), cut(12));
  Rng rng(11);
  std::vector<Action> taken;
  env->reset(0);
  for (bool over = false; !over && taken.size() < 40;) {
    const Observation seen = env->observe();
    fresh->reset(0);
    for (const Action& action : taken) fresh->step(action);
    EXPECT_EQ(fresh->observe(), seen) << taken.size();
    EXPECT_EQ(env->fork()->observe(), seen);
    taken.push_back(testing::random_action(seen.mask, rng));
    const StepResult result = env->step(taken.back());
    over = result.terminated || result.truncated;
  }
  EXPECT_GT(taken.size(), 3u);
}

TEST_P(RegionsOfModels, OnlyRenumberWhatIsOffered) {
  const auto flat = environment(GetParam(), cut(0)), regional = environment(GetParam(), cut(12));
  Rng rng(3);
  flat->reset(0);
  regional->reset(0);
  for (bool over = false; !over;) {
    Observation there = regional->observe();
    const Observation here = flat->observe();
    EXPECT_EQ(here.mask.entities, 1);
    for (int primary = 0; primary < flat->spec().no_op(); ++primary) {
      const auto gains = regional->gains(primary), expected = flat->gains(primary);
      EXPECT_EQ(std::multiset<double>(gains.begin(), gains.end()),
                std::multiset<double>(expected.begin(), expected.end()));
    }
    const size_t columns = flat->spec().node_features.size();
    for (size_t gain = 1; gain < there.graph.nodes.size(); gain += columns)
      there.graph.nodes[gain] = here.graph.nodes[gain];  // at another node of the match
    there.graph.node_entities = here.graph.node_entities;
    EXPECT_EQ(there.graph, here.graph);
    for (int primary = 0; primary <= flat->spec().no_op(); ++primary)
      EXPECT_EQ(there.mask.total(primary), here.mask.total(primary));
    const Action action = testing::random_action(here.mask, rng);
    const double gain =
        action.primary == flat->spec().no_op()
            ? 0
            : regional->gains(action.primary)[static_cast<size_t>(here.mask.number(action))];
    const StepResult result =
        regional->step(there.mask.choice(action.primary, here.mask.number(action)));
    EXPECT_NEAR(result.reward, gain, 1e-9);
    if (action.primary == flat->spec().no_op()) break;
    flat->step(here.mask.choice(action.primary, regional->path().back().location));
    over = result.terminated || result.truncated || HasFailure();
  }
}

void take(RewriteState& state, Regions& regions, const Match& match) {
  const int region = regions.place(state.rules()[match.rule], match).region;
  state.commit(state.propose(match));
  regions.extend(state.graph(), region);
}

/// Takes two matches; the key of what is reached, nothing where the second does not apply after the
/// first.
std::optional<std::pair<uint64_t, uint64_t>> after_both(RewriteState state, Regions regions,
                                                        const Match& first, const Match& second) {
  take(state, regions, first);
  const auto location = state.find(second);
  if (!location) return {};
  const Match next = state.location(second.rule, *location);
  take(state, regions, next);
  return std::pair{state.hash(), regions.hash(state.graph().topological_order())};
}

TEST(RegionsProperty, ChoicesComeByRegionAndThenByHowFarTheyReach) {
  const auto env = environment("nasrnn", cut(8));
  const RewriteState& state = env->state();
  const Regions regions(state.graph(), 8, kMostRegions);
  const int merge = state.rules().find("matmul_merge");
  const ActionMask mask = env->mask();
  const int choices = mask.total(merge);
  std::vector<std::pair<int, int>> places;
  for (int i = 0; i < choices; ++i) {
    const auto fork = env->fork();
    fork->step(mask.choice(merge, i));
    const RewriteStep taken = dynamic_cast<RewriteEnvironment&>(*fork).path().back();
    const Match match = state.location(taken.rule, taken.location);
    const auto [low, high] =
        std::minmax({regions.of(match.nodes()[0]), regions.of(match.nodes()[1])});
    places.emplace_back(low, high);
  }
  EXPECT_TRUE(std::ranges::is_sorted(places));
  EXPECT_GT(std::set(places.begin(), places.end()).size(), 50u);
}

TEST(RegionsProperty, SwappedOperandsMoveNoOtherChoice) {
  const auto env = environment("nasrnn", cut(8));
  const int swap = env->state().rules().find("mul_commute");
  Rng rng(1);
  int pairs_across = 0;
  for (int episode = 0; episode < 8; ++episode) {
    env->reset(0);
    for (int step = 0; step < 3 * episode; ++step)
      env->step(testing::random_action(env->mask(), rng, 0));
    const ActionMask before = env->mask();
    const int merges = env->state().rules().find("matmul_merge");
    pairs_across += before.total(merges);
    const int choices = before.total(swap);
    ASSERT_GT(choices, 0);
    env->step(before.choice(swap, static_cast<int>(rng.below(static_cast<uint64_t>(choices)))));
    EXPECT_EQ(env->mask(), before);
  }
  EXPECT_GT(pairs_across, 1000);
}

TEST_P(RegionsOfModels, DoNotDependOnTheOrderOfIndependentRewrites) {
  const auto env = environment(GetParam(), cut(12));
  const RewriteState start = env->state();
  const Regions regions(start.graph(), 12, kMostRegions);
  Rng rng(1);
  int commuting = 0;
  for (int pair = 0; pair < 60; ++pair) {
    const Match one = random_match(start, rng), two = random_match(start, rng);
    if (one.slot == two.slot) continue;
    const auto forth = after_both(start, regions, one, two);
    const auto back = after_both(start, regions, two, one);
    if (!forth || !back || forth->first != back->first) continue;
    EXPECT_EQ(forth->second, back->second);
    commuting += regions.of(one.root) != regions.of(two.root);
  }
  EXPECT_GT(commuting, 5);
}

INSTANTIATE_TEST_SUITE_P(Light, RegionsOfModels,
                         ::testing::Values("squeezenet1_1", "bert_base", "nasrnn", "resnet18"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace reverie
