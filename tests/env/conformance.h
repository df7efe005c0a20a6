#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "env/environment.h"
#include "env/known_dynamics.h"
#include "tests/support/random_actions.h"

/// What every Environment must do. Include in one source of a test executable and add
///
///     INSTANTIATE_TEST_SUITE_P(Mine, EnvironmentConformance,
///                              ::testing::Values(EnvironmentCase{"mine", [] { return ...; }}),
///                              environment_case_name);
namespace reverie::testing {

struct EnvironmentCase {
  std::string name;
  std::function<std::unique_ptr<Environment>()> make;
  int episodes = 20;  ///< of each random simulation
  /// Whether a random episode without NO-OP can reach the horizon.
  bool reaches_horizon = true;
  friend void PrintTo(const EnvironmentCase& value, std::ostream* out) { *out << value.name; }
};

inline std::string environment_case_name(const ::testing::TestParamInfo<EnvironmentCase>& info) {
  return info.param.name;
}

inline void check_names(const std::vector<std::string>& names, const char* what) {
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size())
      << what << " are not unique";
  for (const std::string& name : names) EXPECT_FALSE(name.empty()) << what << " without a name";
}

/// Every choice has a number, entity by entity.
inline void check_choices(const ActionMask& mask, int primary) {
  Action last{primary, -1, 0};
  for (int n = 0; n < mask.total(primary); ++n) {
    const Action action = mask.choice(primary, n);
    ASSERT_TRUE(mask.allows(action));
    EXPECT_EQ(action.index, action.entity == last.entity ? last.index + 1 : 0);
    ASSERT_GE(action.entity, last.entity) << "numbered entity by entity";
    EXPECT_EQ(mask.number(action), n);
    last = action;
  }
}

inline void check_mask(const EnvSpec& spec, const ActionMask& mask) {
  ASSERT_GE(mask.entities, 1);
  ASSERT_EQ(mask.counts.size(), spec.actions.size() * static_cast<size_t>(mask.entities));
  EXPECT_EQ(mask.at(spec.no_op(), 0), 1) << "NO-OP is always valid";
  EXPECT_EQ(mask.total(spec.no_op()), 1) << "once, at entity 0";
  for (const int count : mask.counts) EXPECT_LE(count, spec.max_choices);
  for (int primary = 0; primary < spec.primary_actions(); ++primary) check_choices(mask, primary);
}

inline void check_all_finite(const std::vector<float>& values, const char* what) {
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      << what;
}

/// Column `column` of so many values a row.
inline std::vector<float> column_of(const std::vector<float>& rows, size_t width, size_t column) {
  std::vector<float> values;
  for (size_t i = column; i < rows.size(); i += width) values.push_back(rows[i]);
  return values;
}

inline void check_targets(const EnvSpec& spec, const GraphFeatures& graph) {
  const auto of_nodes = static_cast<size_t>(spec.target_count(TargetLevel::kNode));
  const auto of_graphs = static_cast<size_t>(spec.target_count(TargetLevel::kGraph));
  ASSERT_EQ(graph.node_targets.size(), of_nodes * graph.node_types.size());
  ASSERT_EQ(graph.graph_targets.size(), of_graphs);
  check_all_finite(graph.node_targets, "targets of nodes");
  check_all_finite(graph.graph_targets, "targets of graphs");
  for (size_t t = 0; t < spec.targets.size(); ++t) {
    const Target& target = spec.targets[t];
    const auto values = t < of_nodes ? column_of(graph.node_targets, of_nodes, t)
                                     : std::vector<float>{graph.graph_targets[t - of_nodes]};
    if (target.loss == TargetLoss::kShare) {
      const double total = std::accumulate(values.begin(), values.end(), 0.0);
      EXPECT_TRUE(total == 0 || std::abs(total - 1) < 1e-3) << target.name << " sums to " << total;
      EXPECT_GE(*std::min_element(values.begin(), values.end()), 0) << target.name;
    } else if (target.loss == TargetLoss::kBinary) {
      for (const float value : values) EXPECT_TRUE(value == 0 || value == 1) << target.name;
    }
  }
}

inline void check_graph(const EnvSpec& spec, const GraphFeatures& graph, int entities) {
  const size_t nodes = graph.node_types.size(), edges = graph.senders.size();
  ASSERT_GT(nodes, 0u);
  EXPECT_EQ(graph.nodes.size(), nodes * spec.node_features.size());
  EXPECT_EQ(graph.node_entities.size(), nodes);
  EXPECT_EQ(graph.receivers.size(), edges);
  EXPECT_EQ(graph.edges.size(), edges * spec.edge_features.size());
  const auto all_below = [](const std::vector<int32_t>& values, int limit) {
    return std::all_of(values.begin(), values.end(), [&](int v) { return v >= 0 && v < limit; });
  };
  EXPECT_TRUE(all_below(graph.node_types, static_cast<int>(spec.node_types.size())));
  EXPECT_TRUE(all_below(graph.node_entities, entities));
  EXPECT_TRUE(all_below(graph.senders, static_cast<int>(nodes)));
  EXPECT_TRUE(all_below(graph.receivers, static_cast<int>(nodes)));
  check_all_finite(graph.nodes, "node features");
  check_all_finite(graph.edges, "edge features");
  check_targets(spec, graph);
}

inline void check_action_features(const EnvSpec& spec, const Observation& observation) {
  const size_t width = spec.action_features.size();
  const auto& counts = observation.mask.counts;
  const auto& features = observation.action_features;
  ASSERT_EQ(features.size(), counts.size() * width);
  check_all_finite(features, "action features");
  for (size_t i = 0; i < features.size(); ++i)
    EXPECT_TRUE(counts[i / width] > 0 || features[i] == 0) << "nothing is offered there";
}

inline void check_gains(const Environment& env, const ActionMask& mask) {
  for (int primary = 0; primary < env.spec().primary_actions(); ++primary) {
    const std::vector<double> gains = env.gains(primary);
    EXPECT_EQ(static_cast<int>(gains.size()), env.spec().looks_ahead ? mask.total(primary) : 0);
    EXPECT_TRUE(std::ranges::all_of(gains, [](double gain) { return std::isfinite(gain); }));
  }
}

/// Of the state, and of everything that can be done in it.
inline void check_texts(const Environment& env) {
  const auto is_a_line = [](const std::string& text) {
    return !text.empty() && text.find('\n') == std::string::npos;
  };
  EXPECT_TRUE(is_a_line(env.describe())) << env.describe();
  const ActionMask mask = env.mask();
  std::map<std::string, Action> known;
  for (int primary = 0; primary < mask.primary_actions(); ++primary)
    for (int n = 0; n < mask.total(primary); ++n) {
      const std::string text = env.describe(mask.choice(primary, n));
      EXPECT_TRUE(is_a_line(text)) << text;
      EXPECT_TRUE(known.emplace(text, mask.choice(primary, n)).second)
          << text << ": two actions, the second of them " << primary << ", number " << n;
    }
}

inline void check_observation(const Environment& env, const Observation& observation) {
  const EnvSpec& spec = env.spec();
  check_mask(spec, observation.mask);
  check_graph(spec, observation.graph, observation.mask.entities);
  EXPECT_EQ(observation.mask, env.mask());
  check_action_features(spec, observation);
  check_gains(env, observation.mask);
}

/// Follows the best objective of an episode's feasible states.
class BestSoFar {
 public:
  explicit BestSoFar(const EnvSpec& spec) : spec_(spec), best_(spec.worst()) {}

  void check(const StepInfo& info) {
    ASSERT_EQ(info.metrics.size(), spec_.metrics.size());
    for (const double metric : info.metrics) EXPECT_TRUE(std::isfinite(metric));
    EXPECT_TRUE(info.feasible || spec_.may_be_infeasible);
    if (info.feasible && spec_.better(info.objective(spec_), best_)) best_ = info.objective(spec_);
    EXPECT_EQ(info.best, best_);
  }

 private:
  const EnvSpec& spec_;
  double best_;
};

class EnvironmentConformance : public ::testing::TestWithParam<EnvironmentCase> {
 protected:
  std::unique_ptr<Environment> make() const { return GetParam().make(); }
  int episodes() const { return GetParam().episodes; }
};

/// Plays an episode with random actions; `visit(result)` after each step.
template <class Visit>
void play(Environment& env, uint64_t seed, double no_op, Visit visit) {
  env.reset(seed);
  Rng rng(mix64(seed));
  for (;;) {
    const StepResult result = env.step(random_action(env.mask(), rng, no_op));
    visit(result);
    if (::testing::Test::HasFatalFailure() || result.terminated || result.truncated) return;
  }
}

TEST_P(EnvironmentConformance, EverythingInTheSpecHasAName) {
  const EnvSpec spec = make()->spec();
  EXPECT_FALSE(spec.name.empty());
  EXPECT_FALSE(spec.source.empty());
  std::vector<std::string> targets, metrics, starts;
  for (const Target& target : spec.targets) targets.push_back(target.name);
  for (const Metric& metric : spec.metrics) metrics.push_back(metric.name);
  for (const StartState& start : spec.starts) starts.push_back(start.name);
  check_names(spec.node_types, "node types");
  check_names(spec.node_features, "node features");
  check_names(spec.edge_features, "edge features");
  check_names(spec.action_features, "action features");
  check_names(spec.actions, "actions");
  check_names(targets, "targets");
  check_names(metrics, "metrics");
  check_names(starts, "start states");
  ASSERT_FALSE(spec.actions.empty());
  EXPECT_EQ(spec.actions.back(), "NO-OP");
  EXPECT_EQ(std::ranges::count(spec.node_types, spec.other_type), spec.other_type.empty() ? 0 : 1);
}

TEST_P(EnvironmentConformance, SpecIsComplete) {
  const EnvSpec spec = make()->spec();
  EXPECT_FALSE(spec.node_types.empty());
  EXPECT_GT(spec.horizon, 0);
  EXPECT_GT(spec.start_states(), 0);
  for (const StartState& start : spec.starts) EXPECT_NE(start.fingerprint, 0u);
  EXPECT_GE(spec.max_choices, 1);
  EXPECT_LE(spec.max_choices, 32767);
  ASSERT_GE(spec.objective, 0);
  ASSERT_LT(spec.objective, static_cast<int>(spec.metrics.size()));
  EXPECT_TRUE(std::ranges::is_sorted(spec.targets, {}, &Target::level)) << "those of nodes first";
  for (const Target& target : spec.targets)
    EXPECT_EQ(target.level == TargetLevel::kNode, target.loss == TargetLoss::kShare) << target.name;
}

TEST_P(EnvironmentConformance, RandomSimulationsKeepTheContract) {
  auto env = make();
  bool infeasible = false;
  for (int episode = 0; episode < episodes(); ++episode) {
    int steps = 0;
    env->reset(static_cast<uint64_t>(episode));
    check_observation(*env, env->observe());
    const int entities = env->mask().entities;
    BestSoFar best(env->spec());
    best.check(env->info());
    play(*env, static_cast<uint64_t>(episode), 0.02, [&](const StepResult& result) {
      ++steps;
      check_observation(*env, env->observe());
      EXPECT_EQ(env->mask().entities, entities);
      best.check(result.info);
      infeasible |= !result.info.feasible;
      EXPECT_TRUE(std::isfinite(result.reward));
      EXPECT_EQ(result.info, env->info());
      EXPECT_FALSE(result.terminated && result.truncated);
      EXPECT_EQ(result.truncated, !result.terminated && steps == env->spec().horizon);
    });
    if (HasFailure()) return;
  }
  EXPECT_EQ(infeasible, env->spec().may_be_infeasible);
}

TEST_P(EnvironmentConformance, InvalidActionsAreRefusedAndChangeNothing) {
  auto env = make();
  env->reset(3);
  Rng rng(5);
  for (int step = 0; step < env->spec().horizon; ++step) {
    const Observation before = env->observe();
    const int64_t steps = env->counters().steps;
    for (int primary = -1; primary <= env->spec().primary_actions(); ++primary) {
      for (const int entity : {-1, 0, 1, before.mask.entities, 1 << 20}) {
        for (const int index : {-1, 0, 1, env->spec().max_choices, 1 << 20}) {
          const Action action{primary, entity, index};
          if (before.mask.allows(action)) continue;
          EXPECT_THROW(env->step(action), InputError) << primary << ", " << entity << ", " << index;
          EXPECT_THROW(env->describe(action), InputError)
              << primary << ", " << entity << ", " << index;
        }
      }
    }
    EXPECT_EQ(env->observe(), before);
    EXPECT_EQ(env->counters().steps, steps);
    const StepResult result = env->step(random_action(before.mask, rng));
    if (HasFailure() || result.terminated || result.truncated) return;
  }
}

TEST_P(EnvironmentConformance, EveryActionTheMaskAllowsIsTaken) {
  auto env = make();
  for (int depth = 0; depth < 4; ++depth) {
    env->reset(1);
    Rng rng(static_cast<uint64_t>(depth));
    bool over = false;
    for (int step = 0; step < depth && !over; ++step) {
      const StepResult result = env->step(random_action(env->mask(), rng));
      over = result.terminated || result.truncated;
    }
    if (over) continue;
    const ActionMask mask = env->mask();
    for (int primary = 0; primary < env->spec().primary_actions(); ++primary)
      for (int n = 0; n < mask.total(primary); ++n)
        EXPECT_NO_THROW(env->fork()->step(mask.choice(primary, n)));
  }
}

TEST_P(EnvironmentConformance, StatesAndActionsDescribeThemselves) {
  auto env = make();
  for (uint64_t seed = 0; seed < 2; ++seed) {
    env->reset(seed);
    Rng rng(seed);
    bool over = false;
    for (int step = 0; step < 4 && !over; ++step) {
      check_texts(*env);
      EXPECT_EQ(env->fork()->describe(), env->describe());
      const StepResult result = env->step(random_action(env->mask(), rng));
      over = result.terminated || result.truncated;
    }
    check_texts(*env);
  }
}

TEST_P(EnvironmentConformance, NoOpEndsTheEpisodeAndKeepsTheState) {
  auto env = make();
  Rng rng(2);
  for (int depth = 0; depth < 5; ++depth) {
    env->reset(0);
    bool over = false;
    for (int step = 0; step < depth && !over; ++step) {
      const StepResult result = env->step(random_action(env->mask(), rng));
      over = result.terminated || result.truncated;
    }
    const Observation before = env->observe();
    const Action no_op{env->spec().no_op(), 0, 0};
    if (!over) {
      const StepResult result = env->step(no_op);
      EXPECT_TRUE(result.terminated);
      EXPECT_FALSE(result.truncated);
      EXPECT_EQ(env->observe(), before);
    }
    EXPECT_THROW(env->step(no_op), InputError) << "a step after the end";
    EXPECT_EQ(env->observe(), before);
  }
}

TEST_P(EnvironmentConformance, TheHorizonTruncates) {
  auto env = make();
  bool reached = false;
  for (int episode = 0; episode < episodes() && !reached; ++episode)
    play(*env, static_cast<uint64_t>(episode), 0.0,
         [&](const StepResult& result) { reached |= result.truncated; });
  EXPECT_EQ(reached, GetParam().reaches_horizon);
}

TEST_P(EnvironmentConformance, EqualSeedsGiveEqualEpisodes) {
  auto one = make(), two = make();
  if (!one->spec().deterministic) GTEST_SKIP() << "not deterministic";
  play(*two, 99, 0.1, [](const StepResult&) {});  // a past that must not matter
  for (uint64_t seed = 0; seed < 3; ++seed) {
    std::vector<Observation> states;
    std::vector<double> rewards;
    play(*one, seed, 0.02, [&](const StepResult& result) {
      states.push_back(one->observe());
      rewards.push_back(result.reward);
    });
    size_t at = 0;
    play(*two, seed, 0.02, [&](const StepResult& result) {
      ASSERT_LT(at, states.size());
      EXPECT_EQ(two->observe(), states[at]);
      EXPECT_EQ(result.reward, rewards[at++]);
    });
    EXPECT_EQ(at, states.size());
  }
}

TEST_P(EnvironmentConformance, UnlessItIsStochasticTheSeedChoosesTheStartStateAlone) {
  auto one = make(), two = make();
  const EnvSpec& spec = one->spec();
  if (!spec.deterministic || spec.stochastic) GTEST_SKIP() << "outcomes vary";
  for (uint64_t seed = 0; seed < 3; ++seed) {
    one->reset(seed);
    two->reset(seed + 5 * static_cast<uint64_t>(spec.start_states()));
    Rng rng(seed);
    for (bool over = false; !over;) {
      ASSERT_EQ(two->observe(), one->observe());
      const Action action = random_action(one->mask(), rng);
      const StepResult result = one->step(action);
      EXPECT_EQ(two->step(action).reward, result.reward);
      over = result.terminated || result.truncated;
    }
  }
}

TEST_P(EnvironmentConformance, AForkGoesTheSameWayAndLeavesTheOriginalAlone) {
  auto env = make();
  if (!env->spec().deterministic) GTEST_SKIP() << "not deterministic";
  env->reset(4);
  Rng rng(8);
  bool over = false;
  for (int step = 0; step < 3 && !over; ++step) {
    const StepResult result = env->step(random_action(env->mask(), rng));
    over = result.terminated || result.truncated;
  }
  auto twin = env->fork();
  EXPECT_EQ(twin->counters().steps, 0);
  EXPECT_EQ(twin->observe(), env->observe());
  EXPECT_EQ(twin->info(), env->info());
  while (!over) {
    const Action action = random_action(env->mask(), rng);
    const Observation before = env->observe();
    const StepResult theirs = twin->step(action);
    EXPECT_EQ(env->observe(), before) << "a step of the fork changed the original";
    const StepResult ours = env->step(action);
    EXPECT_EQ(ours.reward, theirs.reward);
    EXPECT_EQ(ours.terminated, theirs.terminated);
    EXPECT_EQ(ours.truncated, theirs.truncated);
    EXPECT_EQ(ours.info, theirs.info);
    EXPECT_EQ(env->observe(), twin->observe());
    over = ours.terminated || ours.truncated || HasFailure();
  }
}

TEST_P(EnvironmentConformance, CountersCountResetsAndSteps) {
  auto env = make();
  int64_t steps = 0;
  EnvCounters last;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    play(*env, seed, 0.05, [&](const StepResult&) { ++steps; });
    const EnvCounters now = env->counters();
    EXPECT_EQ(now.resets, static_cast<int64_t>(seed) + 1);
    EXPECT_EQ(now.steps, steps);
    EXPECT_GE(now.cost_lookups, last.cost_lookups);
    EXPECT_GE(now.measurements, last.measurements);
    last = now;
  }
}

TEST_P(EnvironmentConformance, EqualKeysStandForEqualObservations) {
  auto env = make();
  std::map<uint64_t, Observation> seen;
  for (int episode = 0; episode < episodes(); ++episode) {
    play(*env, static_cast<uint64_t>(episode), 0.0, [&](const StepResult&) {
      const Observation observation = env->observe();
      const auto [known, fresh] = seen.emplace(observation.state_key, observation);
      if (fresh) return;
      EXPECT_EQ(known->second, observation);
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(seen.size(), 1u);
}

TEST_P(EnvironmentConformance, TheSeedChoosesTheStartState) {
  auto env = make();
  const auto states = static_cast<uint64_t>(env->spec().start_states());
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < states; ++seed) {
    env->reset(seed);
    const Observation observation = env->observe();
    keys.insert(observation.state_key);
    env->reset(seed + 7 * states);
    EXPECT_EQ(env->observe(), observation);
  }
  EXPECT_EQ(keys.size(), states);
}

/// Both at one state: all but what is learned is equal.
inline void check_known(const Environment& env, KnownDynamics& known) {
  const EnvSpec& spec = env.spec();
  Observation real = env.observe();
  known.tell(learned_of(spec, real.graph));
  Observation seen = known.observe();
  EXPECT_EQ(known.mask(), env.mask());
  seen.state_key = real.state_key;
  EXPECT_EQ(seen, real);
}

TEST_P(EnvironmentConformance, KnownDynamicsAndRealStepsAgree) {
  auto env = make();
  env->reset(0);
  ASSERT_EQ(env->known() != nullptr, env->spec().knows_dynamics);
  if (!env->spec().knows_dynamics) {
    EXPECT_TRUE(env->spec().learned.empty());
    GTEST_SKIP() << "does not know its dynamics";
  }
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(episodes()); ++seed) {
    env->reset(seed);
    auto known = env->known();
    EXPECT_EQ(known->spec().actions, env->spec().actions);
    check_known(*env, *known);
    Rng rng(seed);
    for (bool over = false; !over && !HasFailure();) {
      const Action action = random_action(env->mask(), rng, seed % 2 == 0 ? 0.1 : 0);
      auto fork = known->fork();
      const KnownStep expected = fork->step(action);
      EXPECT_EQ(known->mask(), env->mask()) << "a step of the fork changed the original";
      const KnownStep seen = known->step(action);
      EXPECT_THROW(known->step({-1, 0, 0}), InputError);
      const StepResult result = env->step(action);
      over = result.terminated || result.truncated;
      EXPECT_EQ(seen.terminated, result.terminated);
      EXPECT_EQ(seen.truncated, result.truncated);
      EXPECT_EQ(expected.terminated, seen.terminated);
      EXPECT_EQ(expected.reward, seen.reward);
      EXPECT_EQ(seen.reward.has_value(), env->spec().learned.empty());
      if (seen.reward && env->spec().deterministic) {
        EXPECT_EQ(*seen.reward, result.reward);
      }
      check_known(*env, *known);
      check_known(*env, *env->known());
      check_known(*env, *fork);
    }
  }
}

TEST_P(EnvironmentConformance, WhereRewardsComeAtTheEndOthersAreZero) {
  auto env = make();
  bool before_the_end = false;
  for (int episode = 0; episode < episodes(); ++episode)
    play(*env, static_cast<uint64_t>(episode), 0.05, [&](const StepResult& result) {
      before_the_end |= result.reward != 0 && !result.terminated && !result.truncated;
    });
  EXPECT_FALSE(env->spec().reward_at_end && before_the_end);
}

TEST_P(EnvironmentConformance, OnlyAMeasurableEnvironmentMeasures) {
  auto env = make();
  env->reset(0);
  if (env->spec().measurable) {
    EXPECT_TRUE(std::isfinite(env->measured_gain()));
  } else {
    EXPECT_THROW(env->measured_gain(), InputError);
  }
}

}  // namespace reverie::testing
