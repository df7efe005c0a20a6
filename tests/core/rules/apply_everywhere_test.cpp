#include "core/rules/apply_everywhere.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

RewriteState state_of(Graph graph, std::vector<std::string> names) {
  return {std::move(graph),
          std::make_shared<const RuleSet>(RuleSet::builtin().subset(names)),
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
  EXPECT_EQ(apply_everywhere(state, 16), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(state.location_count(0) + state.location_count(1), 0);
}

TEST(ApplyEverywhere, EndsWhereARuleUndoesItself) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {2, 3}});
  const ValueId z = g.add_input("z", {DType::kFloat32, {2, 3}});
  g.add_output("y", g.add("Add", {x, z}));
  RewriteState state = state_of(std::move(g), {"add_commute"});
  EXPECT_EQ(apply_everywhere(state, 3), std::vector<int64_t>{3});
}

TEST(ApplyEverywhere, TakesWhatCostsMore) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {2, 3}});
  const ValueId z = g.add_input("z", {DType::kFloat32, {2, 3}});
  g.add_output("y", g.add("Relu", {g.add("Concat", {x, z}, {{"axis", int64_t{0}}})}));
  RewriteState state = state_of(std::move(g), {"relu_of_concat"});
  const Cost before = state.cost();
  EXPECT_EQ(apply_everywhere(state, 16), std::vector<int64_t>{1});
  EXPECT_GT(state.cost().runtime.count, before.runtime.count);
}

}  // namespace
}  // namespace reverie
