#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "core/base/hash.h"
#include "core/exec/compare.h"
#include "core/onnx/import.h"
#include "core/rules/example.h"
#include "tests/support/light_models.h"
#include "tests/support/random_graph.h"
#include "tests/support/rewrite_checks.h"

namespace reverie {
namespace {

/// Rewrites to do; REVERIE_PROPERTY_REWRITES asks for more than CI's share.
int rewrites_wanted(int share) {
  const char* wanted = std::getenv("REVERIE_PROPERTY_REWRITES");
  return wanted != nullptr ? std::max(share, std::atoi(wanted)) : share;
}

std::shared_ptr<const RuleSet> builtin() {
  return std::make_shared<const RuleSet>(RuleSet::builtin());
}

/// A rewrite whose difference in cost, bytes and hash is held against what then is.
void commit_checked(RewriteState& state, const Match& match) {
  const Rewrite rewrite = state.propose(match);
  const Cost cost = state.cost() + rewrite.cost_delta;
  const int64_t bytes = state.graph().weight_bytes() + rewrite.weight_bytes_delta;
  const uint64_t hash = state.hash_after(rewrite);
  state.commit(rewrite);
  EXPECT_EQ(state.cost(), cost);
  EXPECT_EQ(state.graph().weight_bytes(), bytes);
  EXPECT_EQ(state.hash(), hash);
}

TEST(RewriteProperty, RandomGraphsStayEqualAndConsistent) {
  constexpr int kSteps = 8;
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  const int wanted = rewrites_wanted(500);
  int done = 0;
  for (uint64_t seed = 1; done < wanted; ++seed) {
    const Graph original = RandomGraph::make(seed, 20);
    Rng rng(seed);
    RewriteState state(original, rules, cost);
    std::string path;
    for (int step = 0; step < kSteps; ++step) {
      const Match match = random_match(state, rng);
      if (match.slot < 0) break;
      path += " " + rules->name(match.rule);
      commit_checked(state, match);
      expect_consistent(state, rules, cost);
      const Agreement agreement =
          compare(original, state.graph(), {.inputs = 1, .seed = seed, .tolerance = 1e-6});
      EXPECT_TRUE(agreement.agree) << agreement.reason;
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ":" << path;
      ++done;
    }
    expect_canonical(state, rules, cost);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ":" << path;
    ASSERT_LT(seed, static_cast<uint64_t>(wanted) + 1000) << "random graphs offer too few matches";
  }
  RecordProperty("rewrites", done);
}

/// Every rule takes part: walks that begin with its own step on its own examples.
TEST(RewriteProperty, WalksFromTheExamplesOfEveryRuleStayEqual) {
  constexpr int kSteps = 5;
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  const int rounds = rewrites_wanted(500) / 500;
  for (int rule = 0; rule < rules->size(); ++rule)
    for (const RuleExample& example : (*rules)[rule].pattern().examples)
      for (int round = 0; round < rounds; ++round) {
        const Graph original = build_example((*rules)[rule].pattern(), example, round);
        Rng rng(hash_combine(round, rule));
        RewriteState state(original, rules, cost);
        Match match = state.locations(rule).at(0);
        std::string path;
        for (int step = 0; step < kSteps && match.slot >= 0; ++step) {
          path += " " + rules->name(match.rule);
          commit_checked(state, match);
          expect_consistent(state, rules, cost);
          const Agreement agreement = compare(original, state.graph(), {.inputs = 1});
          EXPECT_TRUE(agreement.agree) << agreement.reason;
          ASSERT_FALSE(::testing::Test::HasFailure()) << rules->name(rule) << ":" << path;
          match = random_match(state, rng);
        }
      }
}

/// No rule lists two matches on the same nodes that lead to the same graph.
void expect_no_duplicates(const RewriteState& state) {
  for (int rule = 0; rule < state.rules().size(); ++rule) {
    std::set<std::pair<std::vector<NodeId>, uint64_t>> seen;
    for (const Match& match : state.locations(rule)) {
      std::vector<NodeId> nodes = match.binding->nodes;
      std::sort(nodes.begin(), nodes.end());
      EXPECT_TRUE(seen.emplace(nodes, state.hash_after(state.propose(match))).second)
          << state.rules().name(rule);
    }
  }
}

TEST(RewriteProperty, EqualLocationsAreListedOnce) {
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  for (uint64_t seed = 1; seed < 60; ++seed) {
    expect_no_duplicates(RewriteState(RandomGraph::make(seed, 20), rules, cost));
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

class LightModel : public ::testing::TestWithParam<std::string> {
 protected:
  Graph load() {
    const auto path = testing::light_folder() / (GetParam() + ".onnx");
    return import_onnx(path).graph;
  }
  /// Numbers are compared where running the reference takes no more than a second.
  void expect_agreement(const RewriteState& state) {
    const std::set<std::string> quick = {"bert_tiny", "nasrnn", "squeezenet1_1"};
    if (!quick.contains(GetParam())) return;
    const Agreement agreement = compare(load(), state.graph(), {.inputs = 1});
    EXPECT_TRUE(agreement.agree) << agreement.reason;
  }
  bool missing() {
    return !std::filesystem::exists(testing::light_folder() / (GetParam() + ".onnx"));
  }
};

TEST_P(LightModel, RandomRewritesStayConsistent) {
  if (missing()) GTEST_SKIP() << "no " << GetParam() << " in " << testing::light_folder();
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  RewriteState state(load(), rules, cost);
  expect_no_duplicates(state);
  Rng rng(3);
  const int wanted = rewrites_wanted(40);
  for (int step = 0; step < wanted; ++step) {
    const Match match = random_match(state, rng);
    if (match.slot < 0) break;
    commit_checked(state, match);
    if (step % 10 == 9) {
      expect_consistent(state, rules, cost);
      expect_canonical(state, rules, cost);
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "step " << step << ": "
                                              << rules->name(match.rule);
  }
  expect_agreement(state);
}

TEST_P(LightModel, TakingTheBestRewriteGains) {
  if (missing()) GTEST_SKIP() << "no " << GetParam() << " in " << testing::light_folder();
  const auto rules = builtin();
  RewriteState state(load(), rules, make_cost_model("roofline:t4"));
  const Cost before = state.cost();
  for (;;) {
    Match best;
    Cost delta;
    for (int rule = 0; rule < rules->size(); ++rule)
      for (const Match& match : state.locations(rule))
        if (const Cost cost = state.cost_delta(match); cost.runtime < delta.runtime) {
          best = match;
          delta = cost;
        }
    if (best.slot < 0) break;
    state.commit(state.propose(best));
  }
  const double gain = 100.0 * static_cast<double>((before.runtime - state.cost().runtime).count) /
                      static_cast<double>(before.runtime.count);
  // The least of the twelve, nasnet_a, gains 15.
  EXPECT_GT(gain, 12.0);
  state.graph().validate();
  expect_agreement(state);
}

INSTANTIATE_TEST_SUITE_P(Light, LightModel, ::testing::ValuesIn(testing::light_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
