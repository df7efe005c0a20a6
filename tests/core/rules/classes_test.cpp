#include <gtest/gtest.h>

#include "core/ir/structural_hash.h"
#include "tests/support/rewrite_checks.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using testing::chains;
using testing::unary_state;

int rule_named(const RewriteState& state, const char* name) { return state.rules().find(name); }

using Members = std::vector<std::vector<int32_t>>;
Members members(const RewriteState& state, const char* rule) {
  Members result;
  for (const LocationClass& alike : state.classes(rule_named(state, rule)))
    result.push_back(alike.members);
  return result;
}

TEST(LocationClasses, NeighbourhoodsOfTwoEdgesDecide) {
  // What follows Sqrt is equal for two edges and differs at the third.
  const RewriteState far =
      unary_state({{"Sqrt", "Neg", "Neg", "Tanh"}, {"Sqrt", "Neg", "Neg", "Sigmoid"}});
  EXPECT_EQ(members(far, "shave"), (Members{{0, 1}}));
  const RewriteState near = unary_state({{"Sqrt", "Neg", "Tanh"}, {"Sqrt", "Neg", "Sigmoid"}});
  EXPECT_EQ(members(near, "shave"), (Members{{0}, {1}}));
  const RewriteState before = unary_state({{"Tanh", "Neg", "Sqrt"}, {"Sigmoid", "Neg", "Sqrt"}});
  EXPECT_EQ(members(before, "shave"), (Members{{0}, {1}}));
}

TEST(LocationClasses, ShapesAndOtherUsersTellApart) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {4}});
  const ValueId wide = g.add_input("wide", {DType::kFloat32, {8}});
  const ValueId twice = g.add("Sqrt", {x});
  g.add_output("a", g.add("Floor", {g.add("Sqrt", {x})}));
  g.add_output("b", g.add("Floor", {g.add("Sqrt", {wide})}));
  g.add_output("c", g.add("Floor", {twice}));
  g.add_output("d", g.add("Neg", {twice}));
  g.add_output("e", g.add("Floor", {g.add("Sqrt", {x})}));
  const RewriteState state(g, testing::unary_rules(), testing::unary_cost());
  EXPECT_EQ(members(state, "shave"), (Members{{0, 3}, {1}, {2}}));
}

TEST(LocationClasses, AStepBringsThemUpToDate) {
  RewriteState state =
      unary_state({{"Sqrt", "Exp"}, {"Sqrt", "Exp"}, {"Sqrt", "Log"}, {"Sqrt", "Log"}});
  EXPECT_EQ(members(state, "shave"), (Members{{0, 1}, {2, 3}}));
  const int there = rule_named(state, "there");
  state.commit(state.propose(state.locations(there)[0]));
  EXPECT_EQ(members(state, "shave"), (Members{{0, 2, 3}, {1}}));
}

TEST(LocationClasses, AMatchIsFoundAgainAfterStepsElsewhere) {
  RewriteState state = unary_state({{"Sqrt", "Exp", "Exp"}, {"Sqrt", "Neg"}});
  const int shave = rule_named(state, "shave");
  const int there = rule_named(state, "there");
  const std::vector<Match> before = state.locations(shave);
  state.commit(state.propose(state.locations(there)[0]));
  EXPECT_EQ(state.find(before[0]), 0);
  EXPECT_EQ(state.find(before[1]), 1);
  state.commit(state.propose(state.location(shave, 0)));
  EXPECT_EQ(state.find(before[0]), std::nullopt);
  EXPECT_EQ(state.find(before[1]), 0);
}

/// Both inputs of the outer Concat are the same inner one: which is meant shows in no node or
/// value, only in where the sequences of the pattern end.
TEST(LocationClasses, MatchesThatDifferInSequencesAloneAreOrderedAndFound) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {4}});
  const ValueId inner = g.add("Concat", {x, g.add("Relu", {x})}, {{"axis", int64_t{0}}});
  g.add_output("y", g.add("Concat", {inner, inner}, {{"axis", int64_t{0}}}));
  const std::vector<std::string> names = {"concat_concat"};
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin().subset(names));
  const RewriteState state(g, rules, testing::unary_cost());
  ASSERT_EQ(state.location_count(0), 2);
  EXPECT_LT(state.location(0, 0).binding->offsets, state.location(0, 1).binding->offsets);
  EXPECT_EQ(state.find(state.location(0, 0)), 0);
  EXPECT_EQ(state.find(state.location(0, 1)), 1);
}

}  // namespace
}  // namespace reverie
