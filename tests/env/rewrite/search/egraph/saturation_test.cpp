#include "env/rewrite/search/egraph/saturation.h"

#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "env/rewrite/search/search.h"
#include "tests/support/op_cost.h"
#include "tests/support/random_graph.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using testing::OpCost;
using testing::unary_state;

int64_t nanoseconds(const Cost& cost) { return cost.runtime.count / 1000; }

std::shared_ptr<const RuleSet> builtin() {
  return std::make_shared<const RuleSet>(RuleSet::builtin());
}

RewriteState state(const Graph& graph, const std::string& rules,
                   std::map<std::string, int64_t> costs) {
  return {graph, std::make_shared<const RuleSet>(RuleSet::parse(rules, "test")),
          std::make_shared<OpCost>(std::move(costs))};
}

SearchResult saturate(const RewriteState& start, const search::Saturation& how = {},
                      const RewriteSearchOptions& options = {}) {
  return search_rewrites(start, options, how);
}

search::Saturation with_solver(search::Saturation how) {
  how.solve = true;
  return how;
}

const SaturationReport& report_of(const SearchResult& result) {
  return dynamic_cast<const SaturationReport&>(*result.details);
}

/// So many products of one input with constants, each with an output.
Graph parallel_products(int count) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2, 4}});
  for (int i = 0; i < count; ++i) {
    const ValueId w =
        graph.add_constant(Weight::fill({DType::kFloat32, {4, 32}}, 1, fmt::format("w{}", i)));
    graph.add_output(fmt::format("y{}", i), graph.add("MatMul", {x, w}));
  }
  return graph;
}

TEST(Saturation, FindsTheOptimumWhereGreedyIsStuck) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}});
  EXPECT_EQ(nanoseconds(search_rewrites(start, {}, search::Greedy()).best_cost),
            10 + 4 + 5 + 10 + 2);
  const SearchResult result = saturate(start);
  EXPECT_EQ(nanoseconds(result.best_cost), 3 + 4 + 5 + 3 + 2);
  EXPECT_TRUE(report_of(result).saturated);
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
}

TEST(Saturation, HoldsBothSidesOfRulesThatUndoEachOther) {
  const SearchResult result = saturate(unary_state({{"Exp"}, {"Log"}}));
  EXPECT_TRUE(report_of(result).saturated);
  EXPECT_EQ(report_of(result).nodes, 2 * (1 + 2 + 1));  // input, Exp and Log, Floor
  EXPECT_EQ(report_of(result).classes, 2 * 3);
}

/// The pattern is complete when its last operator comes, and then stands across two alternatives.
TEST(Saturation, PatternsAreLaidOverAllNodesOfAClass) {
  const std::string rules = R"(
rule early
match
  y = Exp(x)
replace
  y = Log(x)
rule late_one
match
  y = Tanh(x)
replace
  y = Sigmoid(x)
rule late_two
match
  y = Sigmoid(x)
replace
  y = Neg(x)
rule both
match
  y = Neg(Log(x))
replace
  y = Abs(x)
)";
  const RewriteState start =
      state(testing::chains({{"Exp", "Tanh"}}), rules, {{"Exp", 5}, {"Log", 9}, {"Tanh", 5}});
  EXPECT_EQ(nanoseconds(saturate(start).best_cost), 1 + 1);
}

TEST(Saturation, WhatIsWrittenTwiceIsComputedOnce) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4}});
  graph.add_output("y", graph.add("Mul", {graph.add("Exp", {x}), graph.add("Exp", {x})}));
  const SearchResult result =
      saturate({graph, std::make_shared<const RuleSet>(), testing::unary_cost()});
  EXPECT_EQ(nanoseconds(result.initial_cost), 5 + 5 + 1);
  EXPECT_EQ(nanoseconds(result.best_cost), 5 + 1);
}

/// A rule whose condition on uses does not hold where the tensor is used twice is true there too.
TEST(Saturation, ConditionsOnUsesAreAboutCost) {
  const std::string rules = R"(
rule once
match
  s = Exp(x)
  y = Log(s)
where
  uses(s) == 1
replace
  y = Abs(x)
)";
  Graph graph;
  const ValueId s = graph.add("Exp", {graph.add_input("x", {DType::kFloat32, {4}})});
  graph.add_output("y", graph.add("Log", {s}));
  graph.add_output("z", graph.add("Sqrt", {s}));
  const RewriteState start = state(graph, rules, {{"Exp", 5}, {"Log", 5}, {"Abs", 2}});
  EXPECT_EQ(nanoseconds(search_rewrites(start, {}, search::Taso()).best_cost), 11);
  EXPECT_EQ(nanoseconds(saturate(start).best_cost), 8);
}

TEST(Saturation, SeveralRootsAreMergedAndTakenApart) {
  const RewriteState start(
      parallel_products(3), builtin(),
      std::make_shared<OpCost>(std::map<std::string, int64_t>{{"MatMul", 100}, {"Split", 10}}));
  search::Saturation how;
  how.node_limit = 200;
  const SearchResult result = saturate(start, how);
  EXPECT_EQ(nanoseconds(result.best_cost), 110);  // one product, one Split with three outputs
  EXPECT_EQ(result.best_cost.launches, 2);
  EXPECT_TRUE(report_of(result).saturated);  // what overlaps is not merged
  EXPECT_TRUE(compare(start.graph(), result.best).agree);
}

TEST(Saturation, RulesWithSeveralRootsStopAfterTheirIterations) {
  const RewriteState start(
      parallel_products(4), builtin(),
      std::make_shared<OpCost>(std::map<std::string, int64_t>{{"MatMul", 100}, {"Split", 10}}));
  search::Saturation how;
  how.greedy_first = false;
  how.rounds = 1;
  how.multi_iterations = 0;
  const SearchResult none = saturate(start, how);
  EXPECT_EQ(nanoseconds(none.best_cost), 400);
  EXPECT_FALSE(report_of(none).saturated);  // rules were left out
  how.multi_iterations = 1;
  EXPECT_EQ(nanoseconds(saturate(start, how).best_cost), 220);
}

TEST(Saturation, LimitsEndItAndKeepTheBest) {
  const RewriteState start(
      parallel_products(6), builtin(),
      std::make_shared<OpCost>(std::map<std::string, int64_t>{{"MatMul", 100}, {"Split", 10}}));
  search::Saturation how;
  how.greedy_first = false;
  how.rounds = 1;
  how.node_limit = 60;
  const SearchResult few_nodes = saturate(start, how);
  EXPECT_EQ(few_nodes.stopped_by, StoppedBy::kBudget);
  EXPECT_FALSE(report_of(few_nodes).saturated);
  EXPECT_LT(report_of(few_nodes).nodes, 70);
  EXPECT_LT(few_nodes.best_cost.runtime, start.cost().runtime);
  how = {};
  how.greedy_first = false;
  how.rounds = 1;
  how.iterations = 1;
  const SearchResult one = saturate(start, how);
  EXPECT_EQ(one.stopped_by, StoppedBy::kBudget);
  EXPECT_EQ(one.expansions, 1);
  EXPECT_EQ(nanoseconds(one.best_cost), 330);
  how.match_limit = 1;
  EXPECT_FALSE(report_of(saturate(start, how)).saturated);
}

TEST(Saturation, ARoundBeginsAtTheBestOfTheOneBefore) {
  const RewriteState start(
      parallel_products(6), builtin(),
      std::make_shared<OpCost>(std::map<std::string, int64_t>{{"MatMul", 100}, {"Split", 10}}));
  search::Saturation how;
  how.greedy_first = false;
  how.iterations = 1;
  how.rounds = 2;
  const SearchResult two = saturate(start, how);
  EXPECT_EQ(report_of(two).rounds, 2);
  EXPECT_LT(nanoseconds(two.best_cost), 330);
  EXPECT_TRUE(compare(start.graph(), two.best).agree);
  how.rounds = 100;
  const SearchResult many = saturate(start, how);
  EXPECT_LT(report_of(many).rounds, 10);  // none follows one without a gain
  EXPECT_LT(many.best_cost.runtime, two.best_cost.runtime);
}

TEST(Saturation, ARoundBeginsAtGreedysGraphWhereThatIsTheBest) {
  const RewriteState start(
      parallel_products(6), builtin(),
      std::make_shared<OpCost>(std::map<std::string, int64_t>{{"MatMul", 100}, {"Split", 10}}));
  search::Saturation how;
  how.iterations = 1;
  how.rounds = 1;
  const SearchResult one = saturate(start, how);
  EXPECT_EQ(one.rewrites, search_rewrites(start, {}, search::Greedy()).rewrites);
  EXPECT_FALSE(one.rewrites.empty());
  how.rounds = 100;
  const SearchResult many = saturate(start, how);
  EXPECT_GT(report_of(many).rounds, 1) << "the first gains, though less than greedy search";
}

constexpr const char* kSwing = R"(
rule swing
match
  s = Mul(a, b)
  y = Mul(s, c)
replace
  t = Mul(b, c)
  y = Mul(a, t)
)";

/// A product of 14 numbers can be computed in more than a million ways.
TEST(Saturation, ARuleThatWouldFillTheEGraphLeavesRoomForOthers) {
  const std::vector<std::string> ladder = {"Tanh", "Sigmoid", "Exp",  "Log",
                                           "Sqrt", "Relu",    "Ceil", "Neg"};
  std::string rules = kSwing;
  std::map<std::string, int64_t> costs;
  for (size_t i = 0; i + 1 < ladder.size(); ++i) {
    rules += fmt::format("rule step_{}\nmatch\n  y = {}(x)\nreplace\n  y = {}(x)\n", i, ladder[i],
                         ladder[i + 1]);
    costs[ladder[i]] = 10;
  }
  Graph graph = testing::chains({{"Tanh"}});
  ValueId product = graph.add_input("a", {DType::kFloat32, {4}});
  for (int i = 0; i < 13; ++i) {
    const ValueId factor = graph.add_input(fmt::format("b{}", i), {DType::kFloat32, {4}});
    product = graph.add("Mul", {product, factor});
  }
  graph.add_output("product", product);
  const RewriteState start = state(graph, rules, costs);
  search::Saturation how;
  how.rounds = 1;
  how.node_limit = 1000;
  const SearchResult result = saturate(start, how);
  EXPECT_FALSE(report_of(result).saturated);
  EXPECT_EQ(nanoseconds(result.initial_cost) - nanoseconds(result.best_cost), 10 - 1);
}

/// Built-in rules come first, by themselves; then all, from the best graph and the start.
TEST(Saturation, FurtherRulesNeverMakeItWorse) {
  const auto builtin_alone = builtin();
  RuleSet all = *builtin_alone;
  all.append(RuleSet::parse(kSwing, "test"));
  const auto further = std::make_shared<const RuleSet>(std::move(all));
  const auto cost = make_cost_model("roofline:t4");
  search::Saturation how;
  how.greedy_first = false;
  how.node_limit = 80;
  int cut = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Graph graph = RandomGraph::make(seed, 20);
    const SearchResult one = saturate(RewriteState(graph, builtin_alone, cost), how);
    const SearchResult two = saturate(RewriteState(graph, further, cost), how);
    EXPECT_LE(two.best_cost.runtime, one.best_cost.runtime) << seed;
    EXPECT_GT(report_of(two).rounds, report_of(one).rounds) << seed;
    cut += !report_of(two).saturated;
  }
  EXPECT_GT(cut, 10);
}

TEST(Saturation, FurtherRulesSeeWhatTheBuiltInOnesReplaced) {
  const std::string fast = R"(
rule fast
match
  s = Conv(x, w; activation = "none")
  y = Relu(s)
replace
  y = Abs(x)
)";
  RuleSet rules = *builtin();
  rules.append(RuleSet::parse(fast, "test"));
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4, 6, 6}});
  const ValueId w = graph.add_constant(Weight::fill({DType::kFloat32, {4, 4, 1, 1}}, 1, "w"));
  graph.add_output("y", graph.add("Relu", {graph.add("Conv", {x, w})}));
  const auto cost = std::make_shared<OpCost>(std::map<std::string, int64_t>{{"Conv", 10}});
  const RewriteState start(graph, std::make_shared<const RuleSet>(std::move(rules)), cost);
  search::Saturation how;
  how.greedy_first = false;
  EXPECT_EQ(nanoseconds(saturate({graph, builtin(), cost}, how).best_cost), 10);
  EXPECT_EQ(nanoseconds(saturate(start, how).best_cost), 1);
}

/// Fifty of Tanh -> Sigmoid -> Neg; the second iteration adds what pays.
TEST(Saturation, WhatAnIterationAddedBeforeTheTimeEndedItCounts) {
  const RewriteState start = unary_state(std::vector(50, std::vector<std::string>{"Tanh"}));
  search::Saturation how;
  how.greedy_first = false;
  RewriteSearchOptions options;
  int64_t looks = 0;
  options.clock = [&] { return static_cast<double>(looks++); };
  int within = 0;
  for (options.time_limit = 100; options.time_limit < 1000; options.time_limit += 5) {
    looks = 0;
    const SearchResult result = saturate(start, how, options);
    if (report_of(result).nodes <= 50 * 4 || report_of(result).nodes >= 50 * 5) continue;
    ++within;
    EXPECT_LT(result.best_cost.runtime, start.cost().runtime) << options.time_limit;
    EXPECT_EQ(result.stopped_by, StoppedBy::kTimeLimit);
  }
  EXPECT_GT(within, 0);
}

/// x = T(T(x)): the classes of the e-graph read each other.
TEST(Saturation, CyclesOfTheEGraphDoNotComeOut) {
  const std::string rules = R"(
rule twice
match
  y = Neg(Neg(x))
replace
  y = x
rule through
match
  y = Exp(x)
replace
  y = Neg(Neg(Exp(x)))
)";
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4}});
  graph.add_output("y", graph.add("Neg", {graph.add("Neg", {graph.add("Exp", {x})})}));
  const SearchResult result = saturate(state(graph, rules, {}));
  result.best.validate();
  EXPECT_EQ(result.best_cost.launches, 1);
}

TEST(Saturation, EqualInputsGiveEqualResults) {
  const RewriteState start(RandomGraph::make(7, 25), builtin(), make_cost_model("roofline:t4"));
  const SearchResult one = saturate(start, with_solver({}));
  const SearchResult two = saturate(start, with_solver({}));
  EXPECT_TRUE(isomorphic(one.best, two.best));
  EXPECT_EQ(one.candidates, two.candidates);
  EXPECT_EQ(report_of(one).nodes, report_of(two).nodes);
}

TEST(Saturation, WhatComesOutOfRandomGraphsComputesTheSame) {
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  search::Saturation how;
  how.node_limit = 1500;
  how.iterations = 6;
  how.solver_seconds = 1;
  int gained = 0;
  int solved = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Graph graph = RandomGraph::make(seed, 20);
    const RewriteState start(graph, rules, cost);
    const SearchResult result = saturate(start, with_solver(how));
    result.best.validate();
    EXPECT_EQ(graph_cost(*cost, result.best), result.best_cost) << seed;
    const Agreement agreement = compare(graph, result.best, {.inputs = 1, .seed = seed});
    ASSERT_TRUE(agreement.agree) << seed << ": " << agreement.reason;
    gained += result.best_cost.runtime < result.initial_cost.runtime;
    if (report_of(result).extraction != "optimal") continue;
    ++solved;
    EXPECT_LE(result.best_cost.runtime, saturate(start, how).best_cost.runtime);
  }
  EXPECT_GT(solved, 50);
  EXPECT_GT(gained, 50);
}

}  // namespace
}  // namespace reverie
