#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "core/base/hash.h"
#include "core/exec/compare.h"
#include "core/models/models.h"
#include "core/onnx/import.h"
#include "core/rules/example.h"
#include "tests/support/light_models.h"
#include "tests/support/random_graph.h"
#include "tests/support/rewrite_checks.h"

namespace reverie {
namespace {

/// Random rewrites in all, four fifths of them on random graphs, the rest on small networks;
/// REVERIE_PROPERTY_REWRITES asks for more than CI's share (100000 take about a quarter of an
/// hour).
int rewrites_wanted() {
  const char* wanted = std::getenv("REVERIE_PROPERTY_REWRITES");
  return wanted != nullptr ? std::max(1000, std::atoi(wanted)) : 1000;
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

/// Random rewrites from one graph, each compared in numbers with the original and in everything
/// that is kept by difference with what is found from scratch. How many there were.
int walk(const Graph& original, std::shared_ptr<const RuleSet> rules, int steps, uint64_t seed) {
  const auto cost = make_cost_model("roofline:t4");
  Rng rng(seed);
  RewriteState state(original, rules, cost);
  std::string path;
  int step = 0;
  for (; step < steps; ++step) {
    const Match match = random_match(state, rng);
    if (match.slot < 0) break;
    path += " " + rules->name(match.rule);
    commit_checked(state, match);
    expect_consistent(state, rules, cost);
    const Agreement agreement =
        compare(original, state.graph(), {.inputs = 1, .seed = seed, .tolerance = 1e-6});
    EXPECT_TRUE(agreement.agree) << agreement.reason;
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed << ":" << path;
      return step;
    }
  }
  expect_canonical(state, rules, cost);
  EXPECT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ":" << path;
  return step;
}

TEST(RewriteProperty, RandomGraphsStayEqualAndConsistent) {
  const auto rules = builtin();
  const int wanted = rewrites_wanted() * 4 / 5;
  int done = 0;
  for (uint64_t seed = 1; done < wanted; ++seed) {
    const int nodes = seed % 10 == 0 ? 80 : 20;
    done += walk(RandomGraph::make(seed, nodes), rules, nodes == 80 ? 20 : 8, seed);
    ASSERT_FALSE(::testing::Test::HasFailure());
    ASSERT_LT(seed, static_cast<uint64_t>(wanted) + 1000) << "random graphs offer too few matches";
  }
  RecordProperty("rewrites", done);
}

struct SmallNetwork {
  const char* name;
  ModelOptions options;
};

class SmallNetworks : public ::testing::TestWithParam<SmallNetwork> {};

const std::vector<SmallNetwork>& small_networks() {
  static const std::vector<SmallNetwork> networks = {
      {"squeezenet1_1", {.image = 32, .width = 0.125, .classes = 3}},
      {"resnet18", {.image = 32, .width = 0.125, .classes = 3}},
      {"taso_resnext50", {.image = 32, .width = 0.25}},
      {"bert_tiny",
       {.layers = 2, .hidden = 8, .heads = 2, .inner = 8, .length = 3, .vocabulary = 5}},
      {"vit_b_16", {.image = 32, .classes = 3, .layers = 2, .hidden = 8, .heads = 2, .inner = 8}},
      {"nasrnn", {.layers = 3, .hidden = 6}},
      {"nasnet_a", {.image = 32, .width = 0.125, .layers = 1}},
      {"taso_bert", {.layers = 3, .hidden = 8, .heads = 2, .length = 3}}};
  return networks;
}

TEST_P(SmallNetworks, StayEqualAndConsistent) {
  const auto rules = builtin();
  const auto wanted = rewrites_wanted() / 5 / static_cast<int>(small_networks().size());
  int done = 0;
  for (uint64_t seed = 1; done < wanted; ++seed) {
    done += walk(build_model(GetParam().name, GetParam().options), rules,
                 std::min(wanted - done, 50), seed);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  RecordProperty("rewrites", done);
}

INSTANTIATE_TEST_SUITE_P(Small, SmallNetworks, ::testing::ValuesIn(small_networks()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Every rule takes part: walks that begin with its own step on its own examples.
TEST(RewriteProperty, WalksFromTheExamplesOfEveryRuleStayEqual) {
  constexpr int kSteps = 5;
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  constexpr int kRounds = 2;
  for (int rule = 0; rule < rules->size(); ++rule)
    for (const RuleExample& example : (*rules)[rule].pattern().examples)
      for (int round = 0; round < kRounds; ++round) {
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
  Graph load() { return import_onnx(testing::light_model(GetParam())).graph; }
  /// Numbers are compared where running the reference takes no more than a second.
  void expect_agreement(const RewriteState& state) {
    const std::set<std::string> quick = {"bert_tiny", "nasrnn", "squeezenet1_1"};
    if (!quick.contains(GetParam())) return;
    const Agreement agreement = compare(load(), state.graph(), {.inputs = 1});
    EXPECT_TRUE(agreement.agree) << agreement.reason;
  }
};

TEST_P(LightModel, RandomRewritesStayConsistent) {
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  RewriteState state(load(), rules, cost);
  expect_no_duplicates(state);
  Rng rng(3);
  for (int step = 0; step < 40; ++step) {
    const Match match = random_match(state, rng);
    if (match.slot < 0) break;
    commit_checked(state, match);
    if (step % 10 == 9) {
      expect_consistent(state, rules, cost);
      expect_canonical(state, rules, cost);
    }
    ASSERT_FALSE(::testing::Test::HasFailure())
        << "step " << step << ": " << rules->name(match.rule);
  }
  expect_agreement(state);
}

TEST_P(LightModel, TakingTheBestRewriteGains) {
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
