#include "env/rewrite/rewrite_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"
#include "env/rewrite/features.h"
#include "env/selected_starts.h"
#include "env/translated.h"
#include "tests/env/conformance.h"
#include "tests/support/renamed_environment.h"
#include "tests/support/same_episodes.h"
#include "tests/support/unary_world.h"

namespace reverie::testing {
namespace {

using Chains = std::vector<std::vector<std::string>>;

const Chains kMixed = {{"Tanh", "Sqrt", "Exp"}, {"Relu", "Tanh"}, {"Exp", "Sqrt"}};
const Chains kOther = {{"Sqrt", "Exp", "Log"}, {"Tanh"}};

std::unique_ptr<RewriteEnvironment> make(std::vector<Chains> graphs, RewriteEnvConfig config = {},
                                         MeasureGraph measure = nullptr) {
  std::vector<StartGraph> starts;
  for (const Chains& operators : graphs)
    starts.push_back({"g" + std::to_string(starts.size()), chains(operators)});
  return std::make_unique<RewriteEnvironment>(std::move(starts), unary_rules(), unary_cost(),
                                              config, std::move(measure));
}

RewriteEnvConfig with_reward(RewardKind reward, int horizon = 20) {
  RewriteEnvConfig config;
  config.reward = reward;
  config.horizon = horizon;
  config.region_nodes = 0;
  return config;
}

RewriteEnvConfig with_regions(int nodes, int max_locations = 200) {
  RewriteEnvConfig config = with_reward(RewardKind::kRuntime);
  config.max_locations = max_locations;
  config.region_nodes = nodes;
  return config;
}

/// Three times the same chain and one of its own.
const Chains kRepeated = {
    {"Sqrt", "Exp", "Relu"}, {"Sqrt", "Exp", "Relu"}, {"Sqrt", "Tanh"}, {"Sqrt", "Exp", "Relu"}};

int rule(const char* name) { return unary_rules()->find(name); }

INSTANTIATE_TEST_SUITE_P(
    Rewrite, EnvironmentConformance,
    ::testing::Values(
        EnvironmentCase{"one_graph", [] { return make({kMixed}); }},
        EnvironmentCase{"two_graphs",
                        [] {
                          return make({kMixed, kOther});
                        }},
        EnvironmentCase{"few_locations",
                        [] {
                          RewriteEnvConfig config = with_reward(RewardKind::kWeighted);
                          config.max_locations = 1;
                          return make({kMixed}, config);
                        }},
        EnvironmentCase{"regions", [] { return make({kMixed}, with_regions(2)); }},
        EnvironmentCase{"regions_of_two_graphs",
                        [] {
                          return make({kMixed, {{"Tanh", "Exp"}}}, with_regions(3));
                        }},
        EnvironmentCase{"regions_and_few_locations",
                        [] { return make({kRepeated}, with_regions(2, 2)); }},
        EnvironmentCase{"regions_from_some_starts",
                        [] {
                          auto env = make({kMixed, kOther, kRepeated}, with_regions(2));
                          return select_starts(std::move(env), {2, 0});
                        }},
        EnvironmentCase{"regions_translated",
                        [] {
                          auto env = make({kMixed}, with_regions(2));
                          const EnvSpec known = reversed(env->spec());
                          return translated(std::move(env), known);
                        }},
        EnvironmentCase{.name = "ends_by_itself",
                        .make =
                            [] {
                              return make({{{"Sqrt", "Tanh"}}});
                            },
                        .reaches_horizon = false},
        EnvironmentCase{"measured",
                        [] {
                          return make(
                              {kMixed}, with_reward(RewardKind::kMeasuredEveryK),
                              [](const Graph&, const Graph& graph, bool) {
                                return RelativeTime{static_cast<double>(graph.node_count()), 1};
                              });
                        }}),
    environment_case_name);

/// The environment after its code got other tables, seen by one who knows it as it is.
std::unique_ptr<Environment> seen_again(const Environment& environment, EnvSpec now) {
  return translated(std::make_unique<RenamedEnvironment>(environment.fork(), std::move(now)),
                    environment.spec());
}

TEST(RewriteTranslated, NewOperatorsAndRulesMakeNoDifference) {
  const auto env = make({kMixed, kOther}, with_regions(2));
  EnvSpec now = env->spec();
  now.node_types.insert(now.node_types.begin() + 5, "Erf2");
  now.actions.insert(now.actions.begin() + 2, "fuse-new");
  EXPECT_EQ(unknown_actions(env->spec(), now),
            "actions that it was not trained with are not taken: fuse-new");
  expect_same_episodes(*env->fork(), *seen_again(*env, now));
  expect_same_episodes(*env->fork(), *seen_again(*env, reversed(now)));
}

TEST(RewriteTranslated, AnUnknownOperatorIsOpaque) {
  const auto env = make({{{"Sqrt", "Exp"}}});
  EnvSpec known = env->spec();
  ASSERT_EQ(known.other_type, "Opaque");
  std::erase(known.node_types, "Sqrt");
  const auto again = translated(env->fork(), known);
  std::vector<std::string> types;
  for (const int type : again->observe().graph.node_types)
    types.push_back(known.node_types[static_cast<size_t>(type)]);
  EXPECT_EQ(types, (std::vector<std::string>{"Input", "Opaque", "Exp", "Floor"}));
}

/// Of `kUnaryRules` behind `before`, from the second of two start states.
std::unique_ptr<Environment> from_second_start(const std::string& before) {
  std::vector<StartGraph> starts = {{"first", chains(kOther)}, {"second", chains(kMixed)}};
  auto rules = std::make_shared<const RuleSet>(RuleSet::parse(before + kUnaryRules, "unary_world"));
  RewriteEnvConfig config;
  config.region_nodes = 0;
  return select_starts(std::make_unique<RewriteEnvironment>(std::move(starts), std::move(rules),
                                                            unary_cost(), config),
                       {1});
}

TEST(RewriteTranslated, TheKnownRulesAloneAreMatchedAndKeepTheirNumbers) {
  const auto before = from_second_start("");
  const auto after =
      from_second_start("rule new\nmatch\n  y = Exp(x)\nreplace\n  y = Identity(x)\n");
  ASSERT_NE(after->spec().horizon, before->spec().horizon);  // as it follows from the matches
  const auto again = translated(after->fork(), before->spec());
  EXPECT_EQ(again->spec().horizon, after->spec().horizon);
  again->reset(0);
  const int climb = 0;
  again->step(again->mask().choice(climb, 0));
  const auto& environment = dynamic_cast<const RewriteEnvironment&>(again->unwrapped());
  ASSERT_EQ(environment.state().rules().size(), unary_rules()->size());
  ASSERT_EQ(environment.path().size(), 1u);
  EXPECT_EQ(environment.path()[0].rule, climb + 1);
  EXPECT_EQ(environment.state().graph().node_count(), chains(kMixed).node_count());
}

TEST(RewriteRewards, RuntimeIsThePercentOfTheStart) {
  auto env = make({{{"Tanh", "Sqrt"}}}, with_reward(RewardKind::kRuntime));  // 10 + 6 + 1
  EXPECT_NEAR(env->step({rule("climb"), 0, 0}).reward, -100.0 * 1 / 17, 1e-9);
  EXPECT_NEAR(env->step({rule("leap"), 0, 0}).reward, 100.0 * 8 / 17, 1e-9);
  const StepResult last = env->step({rule("shave"), 0, 0});
  EXPECT_NEAR(last.reward, 100.0 * 2 / 17, 1e-9);
  EXPECT_TRUE(last.terminated) << "no rule is left";
  EXPECT_NEAR(last.info.metrics[0], 8e-6, 1e-15);
}

TEST(RewriteRewards, WeightedSumsItsTerms) {
  RewriteEnvConfig config = with_reward(RewardKind::kWeighted);
  config.weights = {.runtime = 0.5, .flops = 9, .bytes = 9, .launches = 2};
  auto env = make({{{"Sqrt"}}}, config);  // FLOPs and bytes are 0 here, launches stay at 2
  EXPECT_NEAR(env->step({rule("shave"), 0, 0}).reward, 0.5 * 100.0 * 2 / 7, 1e-9);
  const Cost before{{100}, 40, 20, 10}, after{{50}, 30, 25, 8};
  EXPECT_NEAR(
      weighted_fall({.runtime = 1, .flops = 1, .bytes = 1, .launches = 1}, before, after, before),
      50 + 25 - 25 + 20, 1e-9);
}

TEST(RewriteRewards, MeasuredEveryKAndAtTheEnd) {
  RewriteEnvConfig config = with_reward(RewardKind::kMeasuredEveryK);
  config.measure_every = 2;
  int calls = 0;
  const auto measure = [&calls](const Graph&, const Graph&, bool) {
    return RelativeTime{1 - 0.1 * ++calls, 1};
  };
  auto env = make({{{"Sqrt", "Sqrt", "Sqrt", "Exp"}}}, config, measure);
  EXPECT_EQ(calls, 0) << "the start is what all is measured against";
  EXPECT_EQ(env->step({rule("shave"), 0, 0}).reward, 0);
  EXPECT_NEAR(env->step({rule("shave"), 0, 0}).reward, 10, 1e-9);
  EXPECT_EQ(env->step({rule("shave"), 0, 0}).reward, 0);
  EXPECT_NEAR(env->step({env->spec().no_op(), 0, 0}).reward, 10, 1e-9);
  env->reset(1);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(env->step({env->spec().no_op(), 0, 0}).reward, 0) << "nothing changed";
  EXPECT_EQ(env->counters().measurements, 2);
  EXPECT_FALSE(env->spec().deterministic);
}

TEST(RewriteRewards, AMeasuredRewardAfterAnotherEpisodeStartsAtTheOriginal) {
  RewriteEnvConfig config = with_reward(RewardKind::kMeasuredEveryK);
  config.measure_every = 1;
  auto env = make({{{"Sqrt", "Sqrt", "Exp"}}}, config, [](const Graph&, const Graph&, bool) {
    return RelativeTime{0.7, 1};
  });
  for (int episode = 0; episode < 2; ++episode) {
    EXPECT_NEAR(env->step({rule("shave"), 0, 0}).reward, 30, 1e-9);
    EXPECT_NEAR(env->step({rule("shave"), 0, 0}).reward, 0, 1e-9);
    env->reset(1);
  }
}

/// Tanh 10, Sqrt 6: climb makes 11 of the first, leap 3 of that.
TEST(RewriteEnvironmentMeasures, TheBestStateOfTheEpisodeAgainstItsStart) {
  std::vector<std::pair<Graph, Graph>> asked;
  std::vector<bool> asked_anew;
  auto env = make({{{"Exp"}}, {{"Tanh", "Sqrt"}}}, with_reward(RewardKind::kRuntime),
                  [&](const Graph& original, const Graph& graph, bool anew) {
                    asked.emplace_back(original, graph);
                    asked_anew.push_back(anew);
                    return RelativeTime{1 - 0.25 * static_cast<double>(asked.size()), 2};
                  });
  env->reset(1);
  const Graph start = env->state().graph();
  env->step({rule("shave"), 0, 0});
  const Graph best = env->state().graph();
  env->step({rule("climb"), 0, 0});
  EXPECT_TRUE(asked.empty()) << "estimated rewards measure nothing";
  EXPECT_NEAR(env->measured_gain(), 25, 1e-9);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(isomorphic(asked[0].first, start));
  EXPECT_TRUE(isomorphic(asked[0].second, best));
  EXPECT_FALSE(isomorphic(best, env->state().graph()));
  EXPECT_EQ(env->counters().measurements, 2);
  EXPECT_THAT(env->measured_gains(2), ::testing::ElementsAre(50, 75));
  EXPECT_EQ(asked_anew, (std::vector<bool>{false, true, true}));
  EXPECT_TRUE(isomorphic(asked[2].second, best));
  EXPECT_EQ(env->counters().measurements, 6);
}

TEST(RewriteEnvironmentMeasures, NoGraphWithNodesThatCannotBeRun) {
  Graph graph = chains({{"Sqrt", "Exp"}});
  const ValueId last = graph.outputs()[0].value;
  const std::vector<TensorType> types = {graph.type(last)};
  const auto attributes = std::make_shared<const Attributes>(Attributes{
      {"op", std::string("Odd")}, {"domain", std::string("custom")}, {"proto", std::string("p")}});
  graph.add_output(
      "odd", graph.output(graph.add_node(opaque_op(), std::span(&last, 1), attributes, types)));
  const std::vector<StartGraph> starts = {{"plain", chains({{"Sqrt"}})}, {"odd", graph}};
  const auto measure = [](const Graph&, const Graph&, bool) {
    return RelativeTime{.ratio = 0.75, .measurements = 1};
  };
  RewriteEnvConfig config = with_reward(RewardKind::kRuntime);
  const RewriteEnvironment env(starts, unary_rules(), unary_cost(), config, measure);
  EXPECT_FALSE(env.spec().measurable);
  EXPECT_THROW(env.measured_gain(), InputError);
  config.measures_opaque_nodes = true;  // a machine that runs files
  const RewriteEnvironment other(starts, unary_rules(), unary_cost(), config, measure);
  EXPECT_TRUE(other.spec().measurable);
  EXPECT_EQ(other.measured_gain(), 25);
}

TEST(RewriteEnvironmentMeasures, NothingWithoutAMeasure) {
  const auto env = make({kMixed}, with_reward(RewardKind::kRuntime));
  EXPECT_FALSE(env->spec().measurable);
  EXPECT_THROW(env->measured_gain(), InputError);
}

TEST(RewriteRewards, MeasuredNeedsAMeasure) {
  EXPECT_THROW(make({kMixed}, with_reward(RewardKind::kMeasuredEveryK)), InputError);
}

TEST(RewriteRewards, RuntimeSumsToTheTotalImprovement) {
  auto env = make({kMixed, kOther}, with_reward(RewardKind::kRuntime, 30));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    double sum = 0;
    play(*env, seed, 0.05, [&](const StepResult& result) { sum += result.reward; });
    const double initial = env->initial_cost().runtime.milliseconds();
    EXPECT_NEAR(sum, 100 * (initial - env->info().metrics[0]) / initial, 1e-9);
  }
}

TEST(RewriteEnvironment, TheDefaultHorizonFollowsGreedy) {
  const Chains deep(1, std::vector<std::string>(20, "Sqrt"));
  EXPECT_EQ(make({deep})->spec().horizon, 40);
  const Chains deepest(1, std::vector<std::string>(200, "Sqrt"));
  EXPECT_EQ(make({deepest})->spec().horizon, 400) << "there is as much to do";
  EXPECT_EQ(make({{{"Sqrt"}}})->spec().horizon, 8);
  EXPECT_EQ(make({{{"Sqrt"}}, deep})->spec().horizon, 40);
  const Chains nothing_to_gain(1, std::vector<std::string>(48, "Log"));
  EXPECT_EQ(make({nothing_to_gain})->spec().horizon, 12);
}

TEST(RewriteEnvironment, LocationsAreCappedAndTheCapIsCounted) {
  RewriteEnvConfig config = with_reward(RewardKind::kRuntime);
  config.max_locations = 2;
  auto env = make({{{"Sqrt", "Sqrt", "Sqrt", "Exp"}}}, config);
  EXPECT_EQ(env->counters().capped_states, 0) << "built, not played";
  env->reset(0);
  EXPECT_EQ(env->counters().capped_states, 1);
  EXPECT_EQ(env->mask().total(rule("shave")), 2);
  EXPECT_THROW(env->step({rule("shave"), 0, 2}), InputError);
  env->step({rule("there"), 0, 0});
  EXPECT_EQ(env->counters().capped_states, 2);
  env->step({rule("shave"), 0, 1});
  EXPECT_EQ(env->counters().capped_states, 2) << "two locations are left";
}

TEST(RewriteEnvironment, TheBestStateIsThatOfThePrefix) {
  auto env = make({{{"Sqrt", "Tanh"}}}, with_reward(RewardKind::kRuntime));
  EXPECT_EQ(env->best_path().size(), 0u);
  env->step({rule("shave"), 0, 0});
  env->step({rule("climb"), 0, 0});
  EXPECT_EQ(env->best_path(), (std::vector<RewriteStep>{{rule("shave"), 0}}));
  EXPECT_NEAR(env->best_state().cost().runtime.milliseconds(), env->info().best, 1e-15);
  EXPECT_NEAR(env->info().best, 15e-6, 1e-15);
  EXPECT_NEAR(env->info().metrics[0], 16e-6, 1e-15);
  env->reset(0);
  env->step({rule("climb"), 0, 0});
  EXPECT_TRUE(env->best_path().empty()) << "nothing was gained in this episode";
}

TEST(RewriteEnvironment, GainsAreWhatStepsGive) {
  for (const int region_nodes : {0, 2}) {
    auto env = make({kMixed}, with_regions(region_nodes));
    const ActionMask mask = env->mask();
    for (int primary = 0; primary < env->spec().no_op(); ++primary) {
      const std::vector<double> gains = env->gains(primary);
      for (size_t i = 0; i < gains.size(); ++i)
        EXPECT_EQ(env->fork()->step(mask.choice(primary, static_cast<int>(i))).reward, gains[i]);
    }
  }
}

/// Entities of each start state.
std::vector<int> entities(std::vector<Chains> graphs, const RewriteEnvConfig& config) {
  auto env = make(std::move(graphs), config);
  std::vector<int> counts;
  for (int start = 0; start < env->spec().start_states(); ++start) {
    env->reset(static_cast<uint64_t>(start));
    counts.push_back(env->mask().entities);
  }
  return counts;
}

TEST(RewriteEnvironment, EachStartGraphHasRegionsOfItsOwn) {
  using Counts = std::vector<int>;
  EXPECT_EQ(entities({kOther, kMixed}, with_regions(0)), (Counts{1, 1}));
  EXPECT_EQ(entities({kOther, kMixed}, with_regions(24)), (Counts{1, 1}));
  EXPECT_EQ(entities({kOther, kMixed}, with_regions(2)), (Counts{3, 6}))
      << "chains of 4 and 2; 4, 3 and 3";
  RewriteEnvConfig few = with_regions(2);
  few.max_regions = 2;
  EXPECT_EQ(entities({kOther, kMixed}, few), (Counts{2, 2}));
}

TEST(RewriteEnvironment, AGraphMayHaveHundredsOfRegions) {
  RewriteEnvConfig config = with_regions(2);
  config.max_regions = 1000;
  auto env = make({Chains(150, {"Sqrt", "Sqrt", "Exp"})}, config);  // four nodes each, with Floor
  EXPECT_EQ(env->mask().entities, 300);
  env->step({rule("there"), 299, 0});
  EXPECT_EQ(env->mask().at(rule("there"), 299), 0);
  EXPECT_EQ(env->mask().at(rule("back"), 299), 1);
  EXPECT_EQ(env->observe().graph.node_entities.back(), 299);
}

TEST(RewriteEnvironment, ChoicesStandRegionByRegion) {
  auto env = make({{{"Exp", "Sqrt", "Sqrt"}, {"Exp", "Sqrt", "Sqrt"}}}, with_regions(4));
  const int shave = rule("shave");
  const Observation before = env->observe();
  ASSERT_EQ(before.mask.entities, 2);
  EXPECT_EQ(before.graph.node_entities, (std::vector<int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(before.mask.choice(shave, 2), (Action{shave, 1, 0}));
  env->step({shave, 1, 1});
  EXPECT_EQ(env->path(), (std::vector<RewriteStep>{{shave, 3}}));
  EXPECT_EQ(env->mask().choice(shave, 1), (Action{shave, 0, 1}));
}

TEST(RewriteEnvironment, NodesThatComeLieInTheOnlyRegionThereIs) {
  for (const int region_nodes : {0, 24}) {
    auto env = make({{{"Relu", "Relu", "Exp"}}}, with_regions(region_nodes));
    for (int i = 0; i < 2; ++i) env->step({rule("weigh"), 0, 0});
    const GraphFeatures graph = env->observe().graph;
    EXPECT_EQ(graph.node_entities, std::vector<int32_t>(graph.node_types.size(), 0));
  }
}

TEST(RewriteEnvironment, RegionsKeepTheirChoicesWhereTheOrderOfTheGraphTurns) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::parse(R"(
rule shave
match
  y = Sqrt(x)
replace
  y = Abs(x)

rule turn
match
  y = Add(a, b)
replace
  y = Add(b, a)
)",
                                                                    "turning"));
  Graph graph;
  ValueId sides[2];
  for (ValueId& side : sides) {
    side = graph.add_input(&side == sides ? "a" : "b", {DType::kFloat32, {4}});
    for (int i = 0; i < 3; ++i) side = graph.add("Sqrt", {side});
  }
  graph.add_output("y", graph.add("Floor", {graph.add("Add", {sides[0], sides[1]})}));
  RewriteEnvironment env({{"g", graph}}, rules, unary_cost(), with_regions(4));
  const auto shaved = [&](int number) {
    const auto copy = env.fork();
    const double gain = copy->gains(0)[static_cast<size_t>(number)];
    EXPECT_NEAR(copy->step(copy->mask().choice(0, number)).reward, gain, 1e-9);
    return dynamic_cast<const RewriteEnvironment&>(*copy).path().back().location;
  };
  // Three of a and one of b, two of b; the sum matches either way round.
  const std::vector<uint16_t> counts = {4, 2, 0, 2, 1, 0};
  EXPECT_EQ(env.mask().counts, counts);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(shaved(i), i);
  env.step({1, 1, 0});
  EXPECT_EQ(env.observe().graph.node_entities, (std::vector<int32_t>{0, 0, 1, 1, 0, 0, 0, 0, 1, 1}))
      << "b comes first now";
  EXPECT_EQ(env.mask().counts, counts);
  const std::vector<int> locations = {0, 3, 4, 5, 1, 2};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(shaved(i), locations[static_cast<size_t>(i)]);
}

TEST(RewriteEnvironment, EqualGraphsOfUnequalRegionsHaveUnequalKeys) {
  const std::vector<Chains> starts = {{{"Exp", "Exp", "Exp", "Exp"}}};
  auto one = make(starts, with_regions(2)), two = make(starts, with_regions(3));
  EXPECT_EQ(one->state().hash(), two->state().hash());
  EXPECT_NE(one->observe().graph.node_entities, two->observe().graph.node_entities);
  EXPECT_NE(one->observe().state_key, two->observe().state_key);
}

TEST(RewriteEnvironment, CostLookUpsAreCounted) {
  auto env = make({{{"Sqrt", "Sqrt", "Exp"}}}, with_reward(RewardKind::kRuntime));
  EXPECT_EQ(env->counters().cost_lookups, 0);
  env->step({rule("shave"), 0, 0});
  EXPECT_EQ(env->counters().cost_lookups, 1) << "stepping without looking";
  env->observe();
  EXPECT_EQ(env->counters().cost_lookups, 1 + 2) << "one more Sqrt, one Exp";
}

TEST(RewriteEnvironment, ForksStepOnThreadsOfTheirOwn) {
  auto env = make({kMixed, kOther}, with_reward(RewardKind::kRuntime, 30));
  const auto rewards = [](Environment& one) {
    std::vector<double> list;
    for (uint64_t seed = 0; seed < 20; ++seed)
      play(one, seed, 0.02, [&](const StepResult& result) {
        one.observe();
        list.push_back(result.reward);
      });
    return list;
  };
  const std::vector<double> expected = rewards(*env);
  auto one = env->fork(), two = env->fork();
  std::vector<double> first, second;
  {
    std::jthread a([&] { first = rewards(*one); });
    std::jthread b([&] { second = rewards(*two); });
  }
  EXPECT_EQ(first, expected);
  EXPECT_EQ(second, expected);
}

TEST(RewriteFeatures, HaveAColumnForEachName) {
  auto env = make({kMixed}, with_regions(2));
  const EnvSpec& spec = env->spec();
  const GraphFeatures graph = env->observe().graph;
  EXPECT_EQ(graph.nodes.size(), graph.node_types.size() * spec.node_features.size());
  EXPECT_EQ(graph.edges.size(), graph.senders.size() * spec.edge_features.size());
  ASSERT_EQ(spec.target_count(TargetLevel::kGraph), static_cast<int>(graph.graph_targets.size()));
  const auto column = [&](const char* name) {
    const auto found = std::ranges::find(spec.node_features, name);
    return static_cast<size_t>(found - spec.node_features.begin());
  };
  const size_t last = (graph.node_types.size() - 1) * spec.node_features.size();
  EXPECT_EQ(graph.nodes[last + column("is a graph output")], 1);
  EXPECT_EQ(graph.nodes[last + column("inputs / 8")], 1.0f / 8);
  EXPECT_EQ(spec.node_types[static_cast<size_t>(graph.node_types.back())], "Floor");
}

TEST(RewriteFeatures, DescribeNodesEdgesAndConstants) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2, 3}});
  const ValueId w = graph.add_constant(Weight::fill({DType::kFloat32, {3, 7}}, 0.1, "w"));
  const ValueId doubled = graph.add("Neg", {w});
  graph.add_output("y", graph.add("MatMul", {graph.add("Relu", {x}), doubled},
                                  {{"activation", std::string("relu")}}));
  OpCost cost({{"Relu", 1}, {"MatMul", 3}});
  const Regions regions;
  FeatureContext context;
  context.regions = &regions;
  context.cost = graph_cost(cost, graph);
  context.initial = {{8000}, 0, 0, 2};
  context.initial_weight_bytes = context.weight_bytes = 84;
  const NodeRows rows(graph, cost);
  const GraphFeatures features = graph_features(graph, graph.topological_order(), rows, context);
  ASSERT_EQ(features.node_count(), 3) << "the weight and work on it are no nodes";
  EXPECT_EQ(features.node_types[1], op_named("Relu").id);
  EXPECT_EQ(features.node_targets, (std::vector<float>{0, 0.25, 0.75}));
  EXPECT_EQ(features.node_entities, (std::vector<int32_t>{0, 0, 0}));
  const size_t width = graph_feature_names().nodes.size();
  EXPECT_EQ(features.nodes[width], 1.0f / 8) << "of the initial cost";
  EXPECT_EQ(features.senders, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(features.receivers, (std::vector<int32_t>{1, 2}));
  const float* product = &features.nodes[2 * width];
  EXPECT_FLOAT_EQ(product[5], 2.0f / 8);
  EXPECT_FLOAT_EQ(product[8], std::log2(3.0f) / 16) << "two rows";
  EXPECT_FLOAT_EQ(product[9], 3.0f / 16) << "seven columns";
  EXPECT_FLOAT_EQ(product[11], 1.0f / 8) << "one constant input";
  EXPECT_EQ(product[14], 1) << "an output";
  EXPECT_EQ(product[21], 1) << "fused relu";
  EXPECT_FLOAT_EQ(features.graph_targets[0], 0.5f);
  EXPECT_FLOAT_EQ(features.graph_targets[3], 1.0f);
  EXPECT_FLOAT_EQ(features.graph_targets[4], 1.0f);
}

TEST(RewriteFeatures, AStepLeavesTheRowsOfNodesThatItDoesNotTouch) {
  auto env = make({{{"Sqrt", "Exp"}, {"Tanh", "Relu"}}}, with_reward(RewardKind::kRuntime));
  const auto width = static_cast<std::ptrdiff_t>(graph_feature_names().nodes.size());
  const auto rows_of = [&](const char* op) {
    const GraphFeatures graph = env->observe().graph;
    std::vector<std::vector<float>> rows;
    for (int i = 0; i < graph.node_count(); ++i)
      if (graph.node_types[static_cast<size_t>(i)] == op_named(op).id)
        rows.emplace_back(graph.nodes.begin() + i * width, graph.nodes.begin() + (i + 1) * width);
    return rows;
  };
  const auto tanh = rows_of("Tanh"), relu = rows_of("Relu");
  const float share = env->observe().graph.node_targets.back();
  ASSERT_NE(env->step({rule("shave"), 0, 0}).reward, 0);
  EXPECT_EQ(rows_of("Tanh"), tanh);
  EXPECT_EQ(rows_of("Relu"), relu);
  EXPECT_NE(env->observe().graph.node_targets.back(), share) << "a share of the current cost";
}

}  // namespace
}  // namespace reverie::testing
