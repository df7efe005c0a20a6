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

/// Every choice lies in one region, and region and index name it.
inline void check_region_choices(const EnvSpec& spec, const ActionMask& mask, int primary) {
  RegionChoice last{-1, 0};
  for (int secondary = 0; secondary < mask.counts[static_cast<size_t>(primary)]; ++secondary) {
    const RegionChoice choice = region_choice(mask, primary, secondary, spec.regions);
    ASSERT_GE(choice.region, last.region) << "numbered region by region";
    EXPECT_EQ(choice.index, choice.region == last.region ? last.index + 1 : 0);
    EXPECT_EQ(secondary_choice(mask, primary, choice, spec.regions), secondary);
    last = choice;
  }
}

inline void check_region_counts(const EnvSpec& spec, const ActionMask& mask) {
  const auto regions = static_cast<size_t>(spec.regions);
  if (regions == 1) {
    EXPECT_TRUE(mask.region_counts.empty());
    return;
  }
  ASSERT_EQ(mask.region_counts.size(), mask.counts.size() * regions);
  for (size_t primary = 0; primary < mask.counts.size(); ++primary) {
    const auto row = mask.region_counts.begin() + static_cast<std::ptrdiff_t>(primary * regions);
    EXPECT_EQ(std::accumulate(row, row + spec.regions, 0), mask.counts[primary]) << primary;
    check_region_choices(spec, mask, static_cast<int>(primary));
  }
  EXPECT_EQ(mask.region_counts[mask.region_counts.size() - regions], 1) << "NO-OP's is in region 0";
}

inline void check_mask(const EnvSpec& spec, const ActionMask& mask) {
  ASSERT_EQ(mask.counts.size(), spec.actions.size());
  EXPECT_EQ(mask.counts.back(), 1) << "NO-OP is always valid, once";
  for (const int count : mask.counts) EXPECT_LE(count, spec.max_secondary);
  check_region_counts(spec, mask);
  if (spec.prefix_masks) {
    EXPECT_TRUE(mask.choices.empty());
    return;
  }
  ASSERT_EQ(mask.choices.size(), mask.counts.size());
  for (size_t primary = 0; primary < mask.counts.size(); ++primary) {
    const auto& list = mask.choices[primary];
    EXPECT_EQ(list.size(), mask.counts[primary]);
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    EXPECT_EQ(std::set<uint16_t>(list.begin(), list.end()).size(), list.size());
    for (const int choice : list) EXPECT_LT(choice, spec.max_secondary);
  }
}

inline void check_all_finite(const std::vector<float>& values, const char* what) {
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      << what;
}

inline void check_graph(const EnvSpec& spec, const GraphFeatures& graph) {
  const size_t nodes = graph.node_types.size(), edges = graph.senders.size();
  ASSERT_GT(nodes, 0u);
  EXPECT_EQ(graph.nodes.size(), nodes * static_cast<size_t>(spec.node_features));
  EXPECT_EQ(graph.receivers.size(), edges);
  EXPECT_EQ(graph.edges.size(), edges * static_cast<size_t>(spec.edge_features));
  EXPECT_EQ(graph.globals.size(), static_cast<size_t>(spec.global_features));
  EXPECT_EQ(graph.node_targets.size(), nodes);
  EXPECT_EQ(graph.node_regions.size(), spec.regions > 1 ? nodes : 0);
  const auto below = [](int limit) { return [limit](int v) { return v >= 0 && v < limit; }; };
  const auto all = [](const std::vector<int32_t>& values, const auto& test) {
    return std::all_of(values.begin(), values.end(), test);
  };
  EXPECT_TRUE(all(graph.node_types, below(spec.node_types)));
  EXPECT_TRUE(all(graph.senders, below(static_cast<int>(nodes))));
  EXPECT_TRUE(all(graph.receivers, below(static_cast<int>(nodes))));
  EXPECT_TRUE(all(graph.node_regions, below(spec.regions)));
  check_all_finite(graph.nodes, "node features");
  check_all_finite(graph.edges, "edge features");
  check_all_finite(graph.globals, "globals");
  check_all_finite(graph.node_targets, "node targets");
  double total = 0;
  for (const float share : graph.node_targets) total += share;
  EXPECT_TRUE(total == 0 || std::abs(total - 1) < 1e-3) << "cost shares sum to " << total;
}

inline void check_region_features(const EnvSpec& spec, const Observation& observation) {
  const auto width = static_cast<size_t>(spec.action_features);
  const auto& counts = observation.mask.region_counts;
  const auto& features = observation.region_features;
  ASSERT_EQ(features.size(), counts.size() * width);
  check_all_finite(features, "region features");
  for (size_t i = 0; i < features.size(); ++i)
    EXPECT_TRUE(counts[i / width] > 0 || features[i] == 0) << "nothing is offered there";
}

inline void check_observation(const Environment& env, const Observation& observation) {
  const EnvSpec& spec = env.spec();
  check_graph(spec, observation.graph);
  check_mask(spec, observation.mask);
  EXPECT_EQ(observation.mask, env.mask());
  EXPECT_EQ(observation.action_features.size(),
            spec.actions.size() * static_cast<size_t>(spec.action_features));
  check_all_finite(observation.action_features, "action features");
  check_region_features(spec, observation);
}

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

TEST_P(EnvironmentConformance, SpecIsComplete) {
  const EnvSpec spec = make()->spec();
  EXPECT_FALSE(spec.name.empty());
  EXPECT_FALSE(spec.cost_source.empty());
  ASSERT_FALSE(spec.actions.empty());
  EXPECT_EQ(spec.actions.back(), "NO-OP");
  EXPECT_EQ(std::set<std::string>(spec.actions.begin(), spec.actions.end()).size(),
            spec.actions.size());
  EXPECT_GT(spec.node_types, 0);
  EXPECT_GT(spec.horizon, 0);
  EXPECT_GT(spec.start_states, 0);
  EXPECT_GE(spec.max_secondary, 1);
  EXPECT_LE(spec.max_secondary, 32767);
  EXPECT_NE(spec.fingerprint, 0u);
  EXPECT_GE(spec.regions, 1);
  EXPECT_LE(spec.regions, spec.prefix_masks ? kMaxRegions : 1) << "explicit lists are not cut";
}

TEST_P(EnvironmentConformance, RandomSimulationsKeepTheContract) {
  auto env = make();
  for (int episode = 0; episode < episodes(); ++episode) {
    int steps = 0;
    double best = 0;
    env->reset(static_cast<uint64_t>(episode));
    check_observation(*env, env->observe());
    best = env->info().best_cost_ms;
    EXPECT_EQ(best, env->info().cost_ms);
    play(*env, static_cast<uint64_t>(episode), 0.02, [&](const StepResult& result) {
      ++steps;
      check_observation(*env, env->observe());
      EXPECT_TRUE(std::isfinite(result.reward));
      EXPECT_TRUE(std::isfinite(result.info.cost_ms));
      EXPECT_LE(result.info.best_cost_ms, best);
      EXPECT_LE(result.info.best_cost_ms, result.info.cost_ms);
      EXPECT_EQ(result.info.cost_ms, env->info().cost_ms);
      EXPECT_FALSE(result.terminated && result.truncated);
      EXPECT_EQ(result.truncated, !result.terminated && steps == env->spec().horizon);
      best = result.info.best_cost_ms;
    });
    if (HasFailure()) return;
  }
}

TEST_P(EnvironmentConformance, InvalidActionsAreRefusedAndChangeNothing) {
  auto env = make();
  env->reset(3);
  Rng rng(5);
  for (int step = 0; step < env->spec().horizon; ++step) {
    const Observation before = env->observe();
    const int64_t steps = env->counters().steps;
    for (int primary = -1; primary <= env->spec().primary_actions(); ++primary) {
      for (const int secondary : {-1, 0, 1, env->spec().max_secondary, 1 << 20}) {
        if (allows(before.mask, {primary, secondary})) continue;
        EXPECT_THROW(env->step({primary, secondary}), InputError) << primary << ", " << secondary;
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
      for (int i = 0; i < mask.counts[static_cast<size_t>(primary)]; ++i)
        EXPECT_NO_THROW(env->fork()->step({primary, secondary_choice(mask, primary, i)}));
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
    const Action no_op{env->spec().no_op(), secondary_choice(before.mask, env->spec().no_op(), 0)};
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
  EXPECT_EQ(twin->info().best_cost_ms, env->info().best_cost_ms);
  while (!over) {
    const Action action = random_action(env->mask(), rng);
    const Observation before = env->observe();
    const StepResult theirs = twin->step(action);
    EXPECT_EQ(env->observe(), before) << "a step of the fork changed the original";
    const StepResult ours = env->step(action);
    EXPECT_EQ(ours.reward, theirs.reward);
    EXPECT_EQ(ours.terminated, theirs.terminated);
    EXPECT_EQ(ours.truncated, theirs.truncated);
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
  const auto states = static_cast<uint64_t>(env->spec().start_states);
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

TEST_P(EnvironmentConformance, GainsHaveOneEntryForEachValidChoice) {
  auto env = make();
  const auto check = [&] {
    const ActionMask mask = env->mask();
    for (int primary = 0; primary < env->spec().primary_actions(); ++primary) {
      const auto gains = env->gains(primary);
      if (gains.empty()) continue;
      EXPECT_EQ(gains.size(), mask.counts[static_cast<size_t>(primary)]);
    }
  };
  env->reset(0);
  check();
  play(*env, 0, 0.0, [&](const StepResult&) { check(); });
}

}  // namespace reverie::testing
