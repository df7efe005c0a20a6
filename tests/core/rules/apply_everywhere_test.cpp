#include "core/rules/apply_everywhere.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

RewriteState state_of(Graph graph, std::vector<std::string> names) {
  return {std::move(graph), std::make_shared<const RuleSet>(RuleSet::builtin().subset(names)),
          make_cost_model("roofline:t4")};
}

TEST(ApplyEverywhere, TakesRulesUntilNoneMatches) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {2, 3}});
  ValueId y = x;
  for (int i = 0; i < 5; ++i) y = g.add("Identity", {g.add("Relu", {y})});
  g.add_output("y", y);
  // Most pairs of Relu meet only once the second rule has been there.
  RewriteState state = state_of(std::move(g), {"relu_relu", "identity"});
  const Applied applied = apply_everywhere(state, {});
  EXPECT_EQ(applied.taken, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(applied.end, Applied::End::kNoMatch);
  EXPECT_EQ(state.location_count(0) + state.location_count(1), 0);
}

TEST(ApplyEverywhere, EndsWhereARuleUndoesItself) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {2, 3}});
  const ValueId z = g.add_input("z", {DType::kFloat32, {2, 3}});
  g.add_output("y", g.add("Add", {x, z}));
  RewriteState state = state_of(std::move(g), {"add_commute"});
  const Applied applied = apply_everywhere(state, {.rounds = 3});
  EXPECT_EQ(applied.taken, std::vector<int64_t>{3});
  EXPECT_EQ(applied.end, Applied::End::kRounds);
  EXPECT_EQ(applied.matches_left, 1);
}

TEST(ApplyEverywhere, TakesWhatCostsMore) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {2, 3}});
  const ValueId z = g.add_input("z", {DType::kFloat32, {2, 3}});
  g.add_output("y", g.add("Relu", {g.add("Concat", {x, z}, {{"axis", int64_t{0}}})}));
  RewriteState state = state_of(std::move(g), {"relu_of_concat"});
  const Cost before = state.cost();
  EXPECT_EQ(apply_everywhere(state, {}).taken, std::vector<int64_t>{1});
  EXPECT_GT(state.cost().runtime.count, before.runtime.count);
}

TEST(ApplyEverywhere, EndsWhereARuleMakesTheGraphGrow) {
  Graph g;
  g.add_output("y", g.add("Relu", {g.add_input("x", {DType::kFloat32, {2, 3}})}));
  const auto rules = std::make_shared<const RuleSet>(RuleSet::parse(
      "rule grow\nmatch\n  y = Relu(a)\nreplace\n  y = Relu(Relu(a))\nexample a: [2, 3]\n",
      "grow.rules"));
  RewriteState state(std::move(g), rules, make_cost_model("roofline:t4"));
  const Applied applied = apply_everywhere(state, {.rounds = 64, .nodes = 100});
  EXPECT_EQ(applied.end, Applied::End::kNodes);
  EXPECT_EQ(state.graph().node_count(), 101);
  EXPECT_GE(applied.matches_left, 99);
}

}  // namespace
}  // namespace reverie
