#include "core/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Graph, InputNamesAreUnique) {
  Graph graph;
  graph.add_input("x", {DType::kFloat32, {2, 3}});
  EXPECT_THROW(graph.add_input("x", {DType::kFloat32, {2, 3}}), InputError);
}

TEST(Graph, SmallConstantsAreKnownByContent) {
  const auto two = Weight::dense(Tensor::of<float>({2}, {1, 2}), "a");
  const auto same = Weight::dense(Tensor::of<float>({2}, {1, 2}), "b");
  const auto other = Weight::dense(Tensor::of<float>({2}, {1, 3}), "a");
  EXPECT_EQ(two->identity(), same->identity());
  EXPECT_NE(two->identity(), other->identity());
}

TEST(Graph, LargeFillsAreKnownByName) {
  const TensorType type{DType::kFloat32, {1000}};
  EXPECT_NE(Weight::fill(type, 0.5, "a")->identity(), Weight::fill(type, 0.5, "b")->identity());
  EXPECT_EQ(Weight::fill(type, 0.5, "a")->identity(), Weight::fill(type, 0.25, "a")->identity());
}

const TensorType kVector{DType::kFloat32, {8}};

/// y = Relu(x) + Relu(x) (one node, used twice), z = Relu(x).
struct Diamond {
  Graph graph;
  ValueId x = graph.add_input("x", kVector);
  ValueId relu = graph.add("Relu", {x});
  ValueId sum = graph.add("Add", {relu, relu});
  Diamond() {
    graph.add_output("y", sum);
    graph.add_output("z", relu);
  }
};

TEST(Graph, CountsEveryUse) {
  const Diamond d;
  EXPECT_EQ(d.graph.users(d.relu).size(), 2u);
  EXPECT_EQ(d.graph.use_count(d.relu), 3);
  EXPECT_TRUE(d.graph.is_output(d.relu));
  EXPECT_FALSE(d.graph.is_output(d.x));
}

TEST(Graph, ReplacingMovesUsesOfNodesAndOutputs) {
  Diamond d;
  const ValueId tanh = d.graph.add("Tanh", {d.x});
  std::vector<NodeId> touched;
  d.graph.replace_all_uses(d.relu, tanh, &touched);
  EXPECT_EQ(d.graph.use_count(d.relu), 0);
  EXPECT_EQ(d.graph.use_count(tanh), 3);
  EXPECT_EQ(d.graph.outputs()[1].value, tanh);
  EXPECT_THAT(touched, Each(d.graph.producer(d.sum)));
  d.graph.validate();
  const ValueId shorter = d.graph.add_input("short", {DType::kFloat32, {7}});
  EXPECT_THROW(d.graph.replace_all_uses(tanh, shorter), InternalError);
}

TEST(Graph, ErasingTakesWhatOnlyItUsed) {
  Diamond d;
  const ValueId end = d.graph.add("Neg", {d.graph.add("Abs", {d.relu})});
  const int before = d.graph.node_count();
  d.graph.erase_if_dead(d.graph.producer(d.relu));
  EXPECT_EQ(d.graph.node_count(), before);
  std::vector<NodeId> removed;
  d.graph.erase_if_dead(d.graph.producer(end), &removed);
  EXPECT_EQ(removed.size(), 2u);
  EXPECT_EQ(d.graph.node_count(), before - 2);
  EXPECT_TRUE(d.graph.alive(d.graph.producer(d.relu)));
  d.graph.validate();
}

TEST(Graph, EraseDeadKeepsInputs) {
  Diamond d;
  d.graph.add("Neg", {d.graph.add("Mul", {d.graph.add_input("unused", kVector), d.sum})});
  d.graph.erase_dead();
  EXPECT_EQ(d.graph.node_count(), 4);
  EXPECT_EQ(d.graph.inputs().size(), 2u);
  d.graph.validate();
}

TEST(Graph, ConstancyFollowsReplacement) {
  Graph graph;
  const ValueId x = graph.add_input("x", kVector);
  const ValueId w = graph.add_constant(Weight::fill(kVector, 1, "w"));
  const ValueId v = graph.add("Relu", {w});
  const ValueId deep = graph.add("Tanh", {graph.add("Add", {v, w})});
  graph.add_output("y", deep);
  EXPECT_TRUE(graph.is_constant(deep));
  EXPECT_FALSE(graph.is_work(graph.producer(deep)));
  graph.replace_all_uses(v, x);
  EXPECT_FALSE(graph.is_constant(deep));
  EXPECT_TRUE(graph.is_work(graph.producer(deep)));
  graph.validate();
  graph.replace_all_uses(x, w);
  EXPECT_TRUE(graph.is_constant(deep));
  graph.validate();
}

TEST(Graph, DequantizedConstantsAreNoConstants) {
  Graph graph;
  const ValueId bytes = graph.add_constant(Weight::fill({DType::kInt8, {64, 64}}, 3, "w"));
  const ValueId scale = graph.add_constant(Weight::dense(Tensor::of<float>({}, {0.5F})));
  const ValueId weight = graph.add("DequantizeLinear", {bytes, scale});
  const ValueId result = graph.add("Relu", {weight});
  graph.add_output("y", result);
  EXPECT_FALSE(graph.is_constant(weight));
  EXPECT_FALSE(graph.is_constant(result));
  EXPECT_TRUE(graph.is_work(graph.producer(weight)));
  EXPECT_EQ(graph.weight_bytes(), 64 * 64 + 4);
  graph.validate();
  graph.compacted().validate();
}

TEST(Graph, WeightBytesCountWhatIsStored) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4, 8}});
  const ValueId a = graph.add_constant(Weight::fill({DType::kFloat32, {8, 8}}, 1, "a"));
  const ValueId b = graph.add_constant(Weight::fill({DType::kFloat32, {8, 8}}, 1, "b"));
  const ValueId both = graph.add("Concat", {a, b}, {{"axis", int64_t{1}}});
  graph.add_output("y", graph.add("MatMul", {x, both}));
  EXPECT_EQ(graph.weight_bytes(), 8 * 16 * 4);
  graph.add_output("z", graph.add("MatMul", {x, a}));
  EXPECT_EQ(graph.weight_bytes(), 8 * 16 * 4 + 8 * 8 * 4);
}

TEST(Graph, CompactedIsTheSameWithoutGaps) {
  Diamond d;
  const ValueId tanh = d.graph.add("Tanh", {d.x});
  d.graph.replace_all_uses(d.relu, tanh);
  d.graph.erase_dead();
  const Graph compact = d.graph.compacted();
  compact.validate();
  EXPECT_LT(compact.node_capacity(), d.graph.node_capacity());
  EXPECT_EQ(compact.node_capacity(), compact.node_count());
  EXPECT_TRUE(isomorphic(d.graph, compact));
}

TEST(Graph, TopologicalOrderOfRootsLeavesTheRestOut) {
  const Diamond d;
  const std::vector<NodeId> order = d.graph.topological_order(std::span(&d.relu, 1));
  EXPECT_THAT(order, ElementsAre(d.graph.producer(d.x), d.graph.producer(d.relu)));
}

TEST(Graph, NodesOfUnknownOperatorsTakeValuesOfUnknownType) {
  Graph graph;
  const ValueId x = graph.add_input("x", kVector);
  const auto attributes = std::make_shared<const Attributes>();
  const std::vector<TensorType> unknown = {TensorType{}};
  const NodeId opaque = graph.add_node(opaque_op(), std::span(&x, 1), attributes, unknown);
  EXPECT_THROW(graph.add("Relu", {graph.output(opaque)}), InputError);
}

// --- validate names planted faults -------------------------------------------------------------

std::string fault(const Graph& graph) {
  try {
    graph.validate();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "none";
}

TEST(GraphValidate, FindsAWrongType) {
  Graph graph;
  const ValueId x = graph.add_input("x", kVector);
  const std::vector<TensorType> wrong = {{DType::kFloat32, {9}}};
  graph.add_node(op_named("Relu"), std::span(&x, 1), std::make_shared<const Attributes>(), wrong);
  EXPECT_THAT(fault(graph), HasSubstr("output types are not what inference gives"));
}

TEST(GraphValidate, FindsACycle) {
  Diamond d;
  d.graph.replace_all_uses(d.relu, d.sum);
  EXPECT_THAT(fault(d.graph), HasSubstr("part of a cycle"));
}

TEST(GraphValidate, FindsAnErasedProducer) {
  Graph graph;
  const ValueId x = graph.add_input("x", kVector);
  const ValueId relu = graph.add("Relu", {x});
  graph.erase_if_dead(graph.producer(relu));
  const std::vector<TensorType> types = {kVector};
  graph.add_node(op_named("Tanh"), std::span(&relu, 1), std::make_shared<const Attributes>(),
                 types);
  EXPECT_THAT(fault(graph), HasSubstr("erased node"));
}

TEST(GraphValidate, FindsAnOutputNamedTwice) {
  Diamond d;
  d.graph.add_output("y", d.relu);
  EXPECT_THAT(fault(d.graph), HasSubstr("'y' stands twice"));
  EXPECT_EQ(fault(Diamond().graph), "none");
}

}  // namespace
}  // namespace reverie
