#include "core/exec/device/fuse.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/exec/device/calls.h"
#include "core/exec/reference/reference.h"
#include "core/ir/pointwise.h"
#include "core/ir/structural_hash.h"
#include "core/ir/text.h"
#include "tests/core/exec/operator_cases.h"
#include "tests/support/random_graph.h"

namespace reverie {
namespace {

using testing::drawn_inputs;
using ::testing::ElementsAre;
using testing::f32;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// Nodes that are work, by operator.
std::map<std::string, int> work(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId node : graph.nodes())
    if (graph.is_work(node)) ++counts[graph.op(node).name];
  return counts;
}

int total(const std::map<std::string, int>& counts) {
  int sum = 0;
  for (const auto& [op, count] : counts) sum += count;
  return sum;
}

int counted_fused(const Graph& graph) {
  int count = 0;
  for (const NodeId node : graph.nodes())
    count += graph.op(node).fused || graph.op(node).is("SkipLayerNormalization");
  return count;
}

std::vector<std::string> programs(const Graph& graph) {
  std::vector<std::string> result;
  for (const NodeId node : graph.topological_order())
    if (graph.op(node).is("Pointwise")) result.push_back(graph.attributes(node).text("program"));
  return result;
}

std::vector<Tensor> in_double(const Graph& graph, std::span<const Tensor> inputs) {
  return ReferenceExecutor({.precision = Precision::kDouble, .cast_back = false})
      .run(graph, inputs);
}

void expect_same_results(const Graph& a, const Graph& b, std::span<const Tensor> inputs,
                         const std::string& what) {
  const std::vector<Tensor> expected = in_double(a, inputs), results = in_double(b, inputs);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<double> x = expected[i].to_doubles(), y = results[i].to_doubles();
    ASSERT_EQ(x.size(), y.size());
    double largest = 1e-300, error = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      largest = std::max(largest, std::abs(x[k]));
      error = std::max(error, std::abs(x[k] - y[k]));
    }
    EXPECT_LE(error, 1e-12 * largest) << what << ", output " << i;
  }
}

TEST(Fuse, RandomGraphsComputeTheSame) {
  int graphs_fused = 0, nodes_before = 0, nodes_after = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, 5 + static_cast<int>(seed % 60));
    const Graph result = fused(graph);
    result.validate();
    EXPECT_EQ(to_text(fused(graph)), to_text(result)) << seed;
    EXPECT_EQ(to_text(fused(result)), to_text(result)) << seed;
    EXPECT_EQ(to_text(fused(graph.compacted())), to_text(result)) << seed;
    const int before = total(work(graph)), after = total(work(result));
    const int made = counted_fused(result);
    if (made == 0)
      EXPECT_EQ(to_text(result), to_text(graph)) << seed;
    else
      EXPECT_LE(after + made, before) << seed;
    graphs_fused += after < before;
    nodes_before += before;
    nodes_after += after;
    expect_same_results(graph, result, drawn_inputs(graph, seed), fmt::format("seed {}", seed));
  }
  EXPECT_GT(graphs_fused, 50);
  EXPECT_LT(nodes_after, 0.97 * nodes_before);
}

TEST(Fuse, AChainIsOneNode) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4}));
  const ValueId bias = graph.add_input("b", f32({3, 1}));
  const ValueId sum = graph.add("Add", {graph.add("Mul", {x, x}), bias});
  graph.add_output("y", graph.add("Elu", {graph.add("Clip", {sum}, {{"min", 0.5}, {"max", 6.0}})},
                                  {{"alpha", 0.25}}));
  const Graph result = fused(graph);
  EXPECT_THAT(work(result), ElementsAre(Pair("Pointwise", 1)));
  EXPECT_THAT(programs(result),
              ElementsAre("t0 = Mul(x0, x0); t1 = Add(t0, x1); t2 = Clip(t1) {max=6, min=0.5}; "
                          "y = Elu(t2) {alpha=0.25}"));
  EXPECT_EQ(result.outputs()[0].name, "y");
  EXPECT_EQ(result.inputs().size(), 2u);
  expect_same_results(graph, result, drawn_inputs(graph, 1), "chain");
}

TEST(Fuse, NumbersThatAreNoneAreKept) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4}));
  const ValueId cut = graph.add("Clip", {x}, {{"min", -INFINITY}, {"max", 1e-300}});
  graph.add_output("y", graph.add("LeakyRelu", {cut}, {{"alpha", 1.0 / 3}}));
  expect_same_results(graph, fused(graph), drawn_inputs(graph, 1), "infinity");
  ASSERT_THAT(work(fused(graph)), ElementsAre(Pair("Pointwise", 1)));
}

/// x sigmoid(x): both users of x are in the tree.
TEST(Fuse, WhatTheTreeAloneUsesIsPartOfIt) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({8}));
  const ValueId moved = graph.add("Neg", {x});
  graph.add_output("y", graph.add("Mul", {moved, graph.add("Sigmoid", {moved})}));
  EXPECT_THAT(work(fused(graph)), ElementsAre(Pair("Pointwise", 1)));
  Graph shown = graph;
  shown.add_output("also", moved);
  EXPECT_THAT(programs(fused(shown)), ElementsAre("t0 = Sigmoid(x0); y = Mul(x0, t0)"));
  graph.add_output("max", graph.add("Softmax", {moved}));
  EXPECT_THAT(work(fused(graph)),
              ElementsAre(Pair("Neg", 1), Pair("Pointwise", 1), Pair("Softmax", 1)));
}

/// What is computed once stays so: of another shape, or used elsewhere.
TEST(Fuse, SmallProducersStayOutside) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4, 8}));
  const ValueId small = graph.add("Exp", {graph.add("Neg", {graph.add_input("s", f32({8}))})});
  graph.add_output("y", graph.add("Relu", {graph.add("Add", {x, small})}));
  EXPECT_THAT(programs(fused(graph)),
              ElementsAre("t0 = Neg(x0); y = Exp(t0)", "t0 = Add(x0, x1); y = Relu(t0)"));
}

TEST(Fuse, NormalizationsByConstantsAreAProductAndASum) {
  Rng rng(3);
  const auto channels = [&](Graph& graph, double low, double high) {
    return graph.add_constant(Weight::dense(testing::drawn(f32({3}), rng, low, high), ""));
  };
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 5}, Shape{1, 3, 4, 2}}) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32(shape));
    const ValueId normal = graph.add("BatchNormalization",
                                     {x, channels(graph, -1, 1), channels(graph, -1, 1),
                                      channels(graph, -1, 1), channels(graph, 1e-6, 1e-4)},
                                     {{"epsilon", 1e-5}});
    EXPECT_EQ(to_text(fused(graph)), to_text(graph));
    graph.add_output("y", graph.add("Relu", {normal}));
    const Graph result = fused(graph);
    EXPECT_THAT(programs(result), ElementsAre("t0 = Mul(x0, x1); t1 = Add(t0, x2); y = Relu(t1)"));
    EXPECT_THAT(work(result), ElementsAre(Pair("Pointwise", 1)));
    expect_same_results(graph, result, drawn_inputs(graph, 1), to_string(shape));
  }
  Graph graph;  // statistics that are not known ahead
  const ValueId x = graph.add_input("x", f32({2, 3})), s = graph.add_input("s", f32({3}));
  graph.add_output("y", graph.add("Relu", {graph.add("BatchNormalization", {x, s, s, s, s})}));
  EXPECT_THAT(programs(fused(graph)), IsEmpty());
}

/// Neither integers nor truth values, no conversions, no double precision.
TEST(Fuse, OtherTypesAreLeftAlone) {
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kFloat64}) {
    Graph graph;
    const ValueId x = graph.add_input("x", {dtype, {8}});
    graph.add_output("y", graph.add("Abs", {graph.add("Add", {graph.add("Neg", {x}), x})}));
    EXPECT_EQ(to_text(fused(graph)), to_text(graph));
  }
  Graph graph;
  const ValueId x = graph.add_input("x", f32({8}));
  const ValueId half = graph.add("Cast", {x}, {{"to", std::string("float16")}});
  const ValueId back = graph.add("Cast", {half}, {{"to", std::string("float32")}});
  const ValueId above = graph.add("Not", {graph.add("Greater", {back, x})});
  graph.add_output("y", graph.add("Where", {above, back, x}));
  EXPECT_EQ(to_text(fused(graph)), to_text(graph));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    Graph low;
    const ValueId z = low.add_input("x", {dtype, {8}});
    low.add_output("y", low.add("Abs", {low.add("Add", {low.add("Neg", {z}), z})}));
    EXPECT_THAT(work(fused(low)), ElementsAre(Pair("Pointwise", 1)));
  }
}

TEST(Fuse, ATreeIsNoLargerThanACall) {
  Graph graph;
  ValueId sum = graph.add_input("x", f32({4}));
  for (int i = 0; i < 20; ++i)
    sum = graph.add("Add", {sum, graph.add_input(fmt::format("x{}", i), f32({4}))});
  graph.add_output("sum", sum);
  ValueId deep = graph.add_input("z", f32({4}));
  for (int i = 0; i < 60; ++i) deep = graph.add("Neg", {deep});
  graph.add_output("deep", deep);
  const Graph result = fused(graph);
  for (const NodeId node : result.nodes()) {
    if (!result.op(node).is("Pointwise")) continue;
    EXPECT_LE(std::ssize(result.inputs(node)), device::kMaxPointwiseOperands);
    const std::string& program = result.attributes(node).text("program");
    EXPECT_LT(std::ranges::count(program, ';'), device::kMaxInstructions);
  }
  EXPECT_THAT(work(result), ElementsAre(Pair("Pointwise", 3 + 3)));
  expect_same_results(graph, result, drawn_inputs(graph, 1), "large");
}

TEST(Fuse, InputsKeepTheirOrder) {
  Graph graph;
  const ValueId a = graph.add_input("a", f32({4})), b = graph.add_input("b", f32({4}));
  graph.add_input("unused", f32({2}));
  graph.add_output("y", graph.add("Relu", {graph.add("Sub", {b, a})}));
  const Graph result = fused(graph);
  std::vector<std::string> names;
  for (const NodeId input : result.inputs()) names.push_back(result.input_name(input));
  EXPECT_THAT(names, ElementsAre("a", "b", "unused"));
}

// --- The row ------------------------------------------------------------------------------------

std::string refusal(const std::string& program, std::vector<TensorType> inputs = {f32({2})}) {
  try {
    const OpSchema& row = op_named("Pointwise");
    const Attributes attributes{{"program", program}};
    row.infer({inputs, {}, attributes});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PointwiseRow, RefusesWhatIsNoProgram) {
  EXPECT_EQ(refusal("y = Relu(x0)"), "accepted");
  EXPECT_THAT(refusal("y = Relu(x1)"), HasSubstr("no value 'x1'"));
  EXPECT_THAT(refusal("t0 = Relu(x0)"), HasSubstr("no value 'y'"));
  EXPECT_THAT(refusal("y = Rely(x0)"), HasSubstr("no operator 'Rely'"));
  EXPECT_THAT(refusal("y = Softmax(x0)"), HasSubstr("Softmax is no operator of a program"));
  EXPECT_THAT(refusal("t = Constant {value=[1]} : float32 1; y = Add(x0, t)"),
              HasSubstr("Constant is no operator of a program"));
  EXPECT_THAT(refusal("y = Pointwise(x0) {program=\"y = Relu(x0)\"}"),
              HasSubstr("Pointwise is no operator of a program"));
  EXPECT_THAT(refusal("z = Input : float32 2; y = Add(x0, z)"), HasSubstr("inputs and outputs"));
  EXPECT_THAT(refusal("y = Relu(x0); output z = y"), HasSubstr("inputs and outputs"));
  EXPECT_THAT(refusal("y = Add(x0, x1)", {f32({2}), f32({3})}), HasSubstr("program: line 3"));
  EXPECT_THAT(refusal("y = Neg(x0)", {{DType::kInt32, {2}}}), HasSubstr("needs floating-point"));
}

TEST(PointwiseRow, CountsTheWorkOfItsProgram) {
  const OpSchema& row = op_named("Pointwise");
  const std::vector<TensorType> inputs = {f32({2, 3}), f32({3})};
  const Attributes attributes{
      {"program", std::string("t0 = Neg(x1); t1 = Mul(x0, t0); y = Relu(t1)")}};
  const std::vector<TensorType> outputs = row.infer({inputs, {}, attributes});
  EXPECT_THAT(outputs, ElementsAre(f32({2, 3})));
  EXPECT_EQ(row.flops({inputs, outputs, attributes}), 3 + 6 + 6);
}

TEST(PointwiseRow, HasATextThatIsReadAgain) {
  const Graph graph =
      fused(parse_graph("a = Input : float32 2x3\nb = Relu(a)\nc = Elu(b)\noutput y = c\n"));
  EXPECT_TRUE(isomorphic(parse_graph(to_text(graph)), graph));
}

}  // namespace
}  // namespace reverie
