#include <gmock/gmock.h>

#include "core/ir/structural_hash.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/optimize.h"
#include "tests/support/op_cost.h"

namespace reverie {
namespace {

/// In nanoseconds, of a machine that fuses.
class FusingCost : public testing::OpCost {
 public:
  FusingCost()
      : OpCost(
            {{"Softmax", 6}, {"Abs", 4}, {"Neg", 2}, {"Relu", 2}, {"Mul", 8}, {"Pointwise", 1}}) {}
  bool fuses() const override { return true; }
};

Picoseconds nanoseconds(int64_t count) { return {1000 * count}; }

/// Zeros: a sum of 14, which runs in 7.
Graph start() {
  Graph graph;
  const ValueId x = graph.add("Softmax", {graph.add_input("x", {DType::kFloat32, {4, 8}})});
  graph.add_output("y", graph.add("Relu", {graph.add("Neg", {graph.add("Abs", {x})})}));
  return graph;
}

/// 8, however it runs.
Graph product() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4, 8}});
  const ValueId zero = graph.add_constant(Weight::constant({DType::kFloat32, {}}, 0));
  graph.add_output("y", graph.add("Mul", {x, zero}));
  return graph;
}

/// A sum of 10, which runs in 1.
Graph tree() {
  Graph graph;
  const ValueId x = graph.add("Neg", {graph.add_input("x", {DType::kFloat32, {4, 8}})});
  graph.add_output("y", graph.add("Relu", {graph.add("Neg", {graph.add("Abs", {x})})}));
  return graph;
}

/// What a search finds that ends with the product, and where it is given one, passes through
/// `passed`.
Optimized optimized(std::shared_ptr<CostModel> cost, std::optional<Graph> passed) {
  const SearchMethod method = [&](const RewriteState& from, const RewriteSearchOptions&) {
    SearchResult result;
    result.initial_cost = from.cost();
    result.best = product();
    result.best_cost = graph_cost(from.cost_model(), result.best);
    if (passed)
      result.improvements.push_back({graph_cost(from.cost_model(), *passed).runtime, {}, passed});
    return result;
  };
  return optimize(start(), std::make_shared<RuleSet>(), cost, method, {});
}

TEST(RunningCost, ChoosesAmongFinalists) {
  const Optimized result = optimized(std::make_shared<FusingCost>(), tree());
  EXPECT_TRUE(isomorphic(result.search.best, tree()));
  EXPECT_EQ(result.search.initial_cost.runtime, nanoseconds(7));
  EXPECT_EQ(result.search.best_cost.runtime, nanoseconds(1));
  EXPECT_EQ(result.promised.runtime, nanoseconds(1));
  EXPECT_EQ(result.file_before.runtime, nanoseconds(7));
  EXPECT_EQ(result.file_after.runtime, nanoseconds(1));
  for (const Contender& contender : result.contenders)
    EXPECT_EQ(contender.cost.runtime,
              running_cost(*std::make_shared<FusingCost>(), contender.graph).runtime);
}

TEST(RunningCost, KeepsTheStartWhereThatRunsFaster) {
  const Optimized result = optimized(std::make_shared<FusingCost>(), std::nullopt);
  EXPECT_TRUE(isomorphic(result.search.best, start()));
  EXPECT_EQ(result.search.best_cost.runtime, nanoseconds(7));
  EXPECT_FALSE(result.changed);
}

TEST(RunningCost, IsASumWhereNothingFuses) {
  const auto cost = std::make_shared<testing::OpCost>(std::map<std::string, int64_t>{
      {"Softmax", 6}, {"Abs", 4}, {"Neg", 2}, {"Relu", 2}, {"Mul", 8}});
  const Optimized result = optimized(cost, tree());
  EXPECT_TRUE(isomorphic(result.search.best, product()));
  EXPECT_EQ(result.search.initial_cost.runtime, nanoseconds(14));
  EXPECT_EQ(result.file_after.runtime, nanoseconds(8));
}

}  // namespace
}  // namespace reverie
