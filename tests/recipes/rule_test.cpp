#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/ir/text.h"
#include "core/rules/rewrite_state.h"

namespace reverie {
namespace {

std::shared_ptr<const RuleSet> rule_of_the_recipe() {
  return std::make_shared<const RuleSet>(
      RuleSet::load(REVERIE_SOURCE_DIR "/tests/recipes/negated_difference.rules"));
}

TEST(RuleRecipe, TurnsTwoNodesIntoOne) {
  const Graph before = parse_graph(R"(
a = Input : float32 2x3
b = Input : float32 3
d = Sub(a, b)
y = Neg(d)
output y = y
)");
  RewriteState state(before, rule_of_the_recipe(), make_cost_model("roofline:cpu"));
  const Cost cost = state.cost();
  ASSERT_EQ(state.location_count(0), 1);
  state.commit(state.propose(state.location(0, 0)));
  EXPECT_LT(state.cost().runtime, cost.runtime);
  EXPECT_EQ(state.location_count(0), 0);
  const Agreement agreement = compare(before, state.graph());
  EXPECT_TRUE(agreement.agree) << agreement.reason;
}

TEST(RuleRecipe, KeepsADifferenceThatIsUsedElsewhere) {
  const Graph before = parse_graph(R"(
a = Input : float32 2x3
b = Input : float32 3
d = Sub(a, b)
y = Neg(d)
output y = y
output d = d
)");
  RewriteState state(before, rule_of_the_recipe(), make_cost_model("roofline:cpu"));
  state.commit(state.propose(state.location(0, 0)));
  EXPECT_TRUE(compare(before, state.graph()).agree);
}

}  // namespace
}  // namespace reverie
