#include "env/rewrite/search/egraph/egraph.h"

#include <gtest/gtest.h>

#include "core/ir/structural_hash.h"
#include "env/rewrite/search/egraph/extract.h"
#include "tests/support/op_cost.h"
#include "tests/support/random_graph.h"

namespace reverie {
namespace {

using testing::OpCost;

const TensorType kType{DType::kFloat32, {2, 3}};

/// Two inputs, and nodes by name on values.
class EGraphTest : public ::testing::Test {
 protected:
  EGraphTest() {
    Graph start;
    a_ = start.add_input("a", kType);
    b_ = start.add_input("b", kType);
    start.add_output("y", start.add("Add", {a_, b_}));
    egraph_.emplace(start, cost_);
    const Graph& graph = egraph_->graph();
    a_ = graph.output(graph.inputs()[0]);
    b_ = graph.output(graph.inputs()[1]);
    root_ = graph.outputs()[0].value;
  }

  NodeId node(const char* op, std::vector<ValueId> inputs) {
    const OpSchema& row = op_named(op);
    std::vector<TensorType> types(inputs.size(), kType);
    const auto attributes = std::make_shared<const Attributes>(row.resolve({}, types));
    return egraph_->add(row, inputs, attributes, row.infer({types, {}, *attributes}), {});
  }
  ValueId value(const char* op, std::vector<ValueId> inputs) {
    return egraph_->outputs(node(op, std::move(inputs)))[0];
  }

  OpCost cost_{{{"Add", 3}}};
  std::optional<EGraph> egraph_;
  ValueId a_;
  ValueId b_;
  ValueId root_;
};

TEST_F(EGraphTest, EqualNodesAreOne) {
  EXPECT_EQ(egraph_->node_count(), 3);
  const NodeId sub = node("Sub", {a_, b_});
  EXPECT_EQ(node("Sub", {a_, b_}), sub);
  EXPECT_NE(node("Sub", {b_, a_}), sub);
  EXPECT_NE(node("Div", {a_, b_}), sub);
  EXPECT_EQ(egraph_->node_count(), 6);
  EXPECT_EQ(egraph_->class_count(), 6);
}

TEST_F(EGraphTest, InputsOfACommutativeOperatorHaveNoOrder) {
  EXPECT_EQ(value("Add", {b_, a_}), root_);
  EXPECT_EQ(egraph_->node_count(), 3);
}

TEST_F(EGraphTest, EqualConstantsAreOne) {
  const auto constant = [&](double value) {
    return egraph_->add_constant(Weight::fill({DType::kFloat32, {2}}, value, ""));
  };
  EXPECT_EQ(constant(1), constant(1));
  EXPECT_NE(constant(1), constant(2));
}

TEST_F(EGraphTest, AMergeMakesOneClass) {
  const ValueId relu = value("Relu", {a_});
  EXPECT_TRUE(egraph_->merge(relu, root_));
  EXPECT_FALSE(egraph_->merge(root_, relu));
  EXPECT_EQ(egraph_->find(relu), egraph_->find(root_));
  EXPECT_EQ(egraph_->producers(egraph_->find(root_)).size(), 2u);
  EXPECT_EQ(egraph_->node_count(), 4);
  EXPECT_EQ(egraph_->class_count(), 3);
}

TEST_F(EGraphTest, EqualInputsMakeEqualNodesAllTheWayDown) {
  const ValueId x = value("Relu", {a_});
  const ValueId y = value("Sigmoid", {a_});
  const ValueId far_x = value("Tanh", {value("Exp", {x})});
  const ValueId far_y = value("Tanh", {value("Exp", {y})});
  const NodeId exp_y = node("Exp", {y});
  EXPECT_NE(egraph_->find(far_x), egraph_->find(far_y));
  egraph_->merge(x, y);
  egraph_->rebuild();
  EXPECT_EQ(egraph_->find(far_x), egraph_->find(far_y));
  EXPECT_EQ(egraph_->node_count(), 3 + 2 + 2);  // Relu and Sigmoid, one Exp, one Tanh
  EXPECT_EQ(egraph_->class_count(), 3 + 1 + 2);
  EXPECT_EQ(egraph_->find(node("Exp", {x})), egraph_->find(exp_y));
}

TEST_F(EGraphTest, ANodeThatReadsItselfLeaves) {
  const ValueId again = value("Relu", {root_});
  egraph_->merge(again, root_);
  egraph_->rebuild();
  EXPECT_EQ(egraph_->producers(egraph_->find(root_)).size(), 1u);
  EXPECT_EQ(egraph_->node_count(), 3);
}

TEST_F(EGraphTest, ChangedAreNewNodesAndThoseThatAMergeConnects) {
  const NodeId relu = node("Relu", {a_});
  const NodeId exp = node("Exp", {b_});
  const NodeId user = node("Tanh", {egraph_->outputs(exp)[0]});
  EXPECT_EQ(egraph_->take_changed().size(), 6u);
  EXPECT_TRUE(egraph_->take_changed().empty());
  egraph_->merge(egraph_->outputs(relu)[0], egraph_->outputs(exp)[0]);
  egraph_->rebuild();
  const std::vector<NodeId> changed = egraph_->take_changed();
  // The class of relu goes: it has no users.
  EXPECT_EQ(changed, std::vector<NodeId>{relu});
  EXPECT_TRUE(egraph_->alive(user));
}

TEST(EGraph, HoldsWhatItWasMadeFrom) {
  OpCost cost({});
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = RandomGraph::make(seed, 20);
    const EGraph egraph(graph, cost);
    const Extraction extraction(egraph, std::numeric_limits<int64_t>::max());
    std::vector<NodeId> nodes;
    for (int32_t i = 0; i < egraph.graph().node_capacity(); ++i) nodes.push_back({i});
    const Graph again = extraction.build(extraction.selection_of(nodes));
    again.validate();
    EXPECT_EQ(again.outputs().size(), graph.outputs().size());
    EXPECT_EQ(again.inputs().size(), graph.inputs().size());
    EXPECT_LE(again.node_count(), graph.node_count());
  }
}

TEST(EGraph, HoldsEqualGraphs) {
  const auto chain = [](const std::vector<const char*>& operators) {
    Graph graph;
    ValueId value = graph.add_input("x", kType);
    for (const char* op : operators) value = graph.add(op, {value});
    graph.add_output("y", value);
    return graph;
  };
  OpCost cost({{"Relu", 9}});
  const Graph start = chain({"Exp", "Relu"});
  EGraph egraph(start, cost);
  egraph.add_equal(chain({"Exp", "Tanh", "Abs"}), cost);
  EXPECT_EQ(egraph.node_count(), 1 + 2 + 2);  // one Exp
  EXPECT_EQ(egraph.class_count(), 1 + 3);
  const Extraction extraction(egraph, std::numeric_limits<int64_t>::max());
  const Graph best = extraction.build(select_bottom_up(extraction.problem()));
  EXPECT_TRUE(isomorphic(best, chain({"Exp", "Tanh", "Abs"})));
  egraph.add_equal(start, cost);
  EXPECT_EQ(egraph.node_count(), 5);
}

TEST(EGraph, OutputsThatAreWeightsTakeFromALimitAlone) {
  constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  OpCost cost({});
  Graph graph;
  graph.add_output("w", graph.add_constant(Weight::constant({DType::kFloat32, {4}}, 1)));
  const EGraph egraph(graph, cost);
  EXPECT_FALSE(Extraction(egraph, kUnlimited).problem().limited());
  EXPECT_EQ(Extraction(egraph, 100).problem().weight_limit, 84);
}

}  // namespace
}  // namespace reverie
