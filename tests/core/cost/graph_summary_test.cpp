#include "core/cost/graph_summary.h"

#include <gtest/gtest.h>

#include "tests/support/op_cost.h"

namespace reverie {
namespace {

TEST(GraphSummary, AddsUpByOperator) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2, 3}});
  const ValueId w = graph.add_constant(Weight::fill({DType::kFloat32, {3, 4}}, 1, "w"));
  const ValueId negated = graph.add("Neg", {w});
  const ValueId product =
      graph.add("MatMul", {graph.add("Relu", {graph.add("Relu", {x})}), negated});
  graph.add_output("y", product);
  testing::OpCost cost({{"Relu", 2}, {"MatMul", 3}});
  const GraphSummary summary = summarize(graph, cost);
  ASSERT_EQ(summary.operators.size(), 2u) << "work on constants is none";
  EXPECT_EQ(summary.operators[0].name, "Relu") << "4 ns in all";
  EXPECT_EQ(summary.operators[0].nodes, 2);
  EXPECT_EQ(summary.operators[0].cost.runtime.count, 4000);
  EXPECT_EQ(summary.operators[1].name, "MatMul");
  EXPECT_EQ(summary.nodes, 3);
  EXPECT_EQ(summary.weights, 1) << "the result of Neg is what would be stored";
  EXPECT_EQ(summary.weight_bytes, 48);
  EXPECT_EQ(summary.cost, graph_cost(cost, graph));
  EXPECT_EQ(summary.inputs[0].first, "x");
  EXPECT_EQ(summary.outputs[0].first, "y");
}

}  // namespace
}  // namespace reverie
