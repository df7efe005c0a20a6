#include <gmock/gmock.h>

#include <functional>

#include "core/exec/device/device_executor.h"
#include "core/exec/device/fuse.h"
#include "core/exec/reference/reference.h"
#include "core/ir/structural_hash.h"
#include "tests/core/exec/operator_cases.h"
#include "tests/support/host_device.h"
#include "tests/support/relative_error.h"

namespace reverie {
namespace {

using testing::drawn_inputs;
using testing::f32;
using Ints = std::vector<int64_t>;

NodeId find(const Graph& graph, std::string_view op) {
  NodeId found;
  for (const NodeId node : graph.nodes())
    if (graph.op(node).is(op)) found = node;
  return found;
}

int count(const Graph& graph, std::string_view op) {
  int total = 0;
  for (const NodeId node : graph.nodes()) total += graph.op(node).is(op);
  return total;
}

int work(const Graph& graph) {
  int total = 0;
  for (const NodeId node : graph.nodes()) total += graph.is_work(node);
  return total;
}

void expect_same_results(const Graph& graph) {
  const Graph result = fused(graph);
  result.validate();
  EXPECT_TRUE(isomorphic(fused(graph.compacted()), result));
  EXPECT_TRUE(isomorphic(fused(result), result));
  const std::vector<Tensor> inputs = drawn_inputs(graph, 3);
  ReferenceExecutor exact({.precision = Precision::kDouble, .cast_back = false});
  DeviceExecutor on_device("host", std::make_shared<testing::HostDevice>());
  const std::vector<Tensor> expected = exact.run(graph, inputs),
                            results = exact.run(result, inputs), run = on_device.run(graph, inputs);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_LE(testing::relative_error(results[i], expected[i]), 1e-12) << i;
    EXPECT_LE(testing::relative_error(run[i], expected[i]), 1e-5) << i;
  }
  EXPECT_TRUE(on_device.fallbacks().empty());
}

ValueId number(Graph& graph, double value) {
  return graph.add_constant(Weight::constant({DType::kFloat32, {}}, value));
}

/// Of one head and rank 3, from scores on; `change` makes other scores of them.
struct Plain {
  Graph graph;
  ValueId q, k, v, scores, shares;

  explicit Plain(const std::function<ValueId(Plain&)>& change = {}, int64_t axis = 2) {
    q = graph.add_input("q", f32({2, 5, 4}));
    k = graph.add_input("k", f32({2, 4, 6}));
    v = graph.add_input("v", f32({2, 6, 3}));
    scores = graph.add("MatMul", {q, k});
    shares = graph.add("Softmax", {change ? change(*this) : scores}, {{"axis", axis}});
    graph.add_output("y", graph.add("MatMul", {shares, v}));
  }
};

/// As exporters write a layer of a transformer: heads are taken apart by Reshape and Transpose.
Graph layer(int64_t batch, int64_t length, bool turns_twice) {
  constexpr int64_t kHeads = 3, kSize = 4;
  Graph graph;
  const ValueId mask = graph.add_input("mask", f32({batch, 1, 1, length}));
  const auto heads = [&](const char* name, Ints perm) {
    const ValueId x = graph.add_input(name, f32({batch, length, kHeads * kSize}));
    const ValueId split =
        graph.add("Reshape", {x}, {{"shape", Ints{batch, length, kHeads, kSize}}});
    return graph.add("Transpose", {split}, {{"perm", std::move(perm)}});
  };
  const ValueId q = heads("q", {0, 2, 1, 3}), v = heads("v", {0, 2, 1, 3});
  const ValueId k =
      turns_twice ? graph.add("Transpose", {heads("k", {0, 2, 1, 3})}, {{"perm", Ints{0, 1, 3, 2}}})
                  : heads("k", {0, 2, 3, 1});
  const ValueId scores = graph.add("Div", {graph.add("MatMul", {q, k}), number(graph, 2)});
  const ValueId shares =
      graph.add("Softmax", {graph.add("Add", {scores, mask})}, {{"axis", int64_t{3}}});
  const ValueId context =
      graph.add("Transpose", {graph.add("MatMul", {shares, v})}, {{"perm", Ints{0, 2, 1, 3}}});
  graph.add_output(
      "y", graph.add("Reshape", {context}, {{"shape", Ints{batch, length, kHeads * kSize}}}));
  return graph;
}

TEST(FuseAttention, ALayerIsOneNodeBetweenViews) {
  for (const bool turns_twice : {false, true}) {
    const Graph graph = layer(2, 7, turns_twice);
    const Graph result = fused(graph);
    const NodeId node = find(result, "FusedAttention");
    ASSERT_TRUE(node.valid());
    EXPECT_EQ(work(result), 5) << "with four views";
    EXPECT_EQ(result.attributes(node).number("scale"), 0.5);
    EXPECT_EQ(result.attributes(node).integers("k_perm"), (Ints{0, 2, 3, 1}));
    EXPECT_EQ(result.inputs(node).size(), 4u) << "the mask";
    expect_same_results(graph);
  }
}

TEST(FuseAttention, OneKernelRunsIt) {
  testing::HostDevice device;
  EXPECT_EQ(DevicePlan(device, layer(1, 5, false)).kernels(), 1);
}

TEST(FuseAttention, ScalesAndMasksStandOnEitherSide) {
  const auto scaled = [](Plain& plain) {
    return plain.graph.add("Mul", {number(plain.graph, 3), plain.scores});
  };
  const auto masked = [](Plain& plain) {
    const ValueId mask = plain.graph.add_input("mask", f32({5, 6}));
    return plain.graph.add("Add",
                           {mask, plain.graph.add("Mul", {plain.scores, number(plain.graph, 3)})});
  };
  for (const Plain& plain : {Plain(), Plain(scaled), Plain(masked)}) {
    EXPECT_EQ(work(fused(plain.graph)), 1);
    expect_same_results(plain.graph);
  }
}

/// Another row of the table, or a number that is used, stands between.
TEST(FuseAttention, OtherGraphsStayAsTheyAre) {
  Plain shares_leave;
  shares_leave.graph.add_output("shares", shares_leave.shares);
  Plain scores_leave;
  scores_leave.graph.add_output("scores", scores_leave.scores);
  const Plain divided([](Plain& plain) {
    return plain.graph.add("Div", {number(plain.graph, 3), plain.scores});
  });
  const Plain by_tensor([](Plain& plain) {
    return plain.graph.add("Mul", {plain.scores, plain.graph.add_input("m", f32({5, 6}))});
  });
  for (const Plain* plain :
       std::initializer_list<const Plain*>{&shares_leave, &scores_leave, &divided, &by_tensor}) {
    EXPECT_EQ(count(fused(plain->graph), "FusedAttention"), 0);
    expect_same_results(plain->graph);
  }
  Graph broadcast;
  const ValueId q = broadcast.add_input("q", f32({2, 5, 4})),
                k = broadcast.add_input("k", f32({4, 6})),
                v = broadcast.add_input("v", f32({2, 6, 3}));
  broadcast.add_output(
      "y", broadcast.add("MatMul", {broadcast.add("Softmax", {broadcast.add("MatMul", {q, k})},
                                                  {{"axis", int64_t{2}}}),
                                    v}));
  EXPECT_TRUE(isomorphic(fused(broadcast), broadcast)) << "k has no batch";
}

TEST(FuseAttention, ANumberThatAddsAnAxisStays) {
  const Plain plain(
      [](Plain& one) {
        const ValueId number =
            one.graph.add_constant(Weight::constant({DType::kFloat32, {1, 1, 1, 1}}, 3));
        return one.graph.add("Mul", {one.scores, number});
      },
      3);
  EXPECT_EQ(count(fused(plain.graph), "FusedAttention"), 0);
  expect_same_results(plain.graph);
}

TEST(FuseAttention, WideHeadsStayAsTheyAre) {
  Graph graph;
  const ValueId q = graph.add_input("q", f32({1, 3, 200})),
                k = graph.add_input("k", f32({1, 200, 3})),
                v = graph.add_input("v", f32({1, 3, 4}));
  graph.add_output(
      "y",
      graph.add("MatMul",
                {graph.add("Softmax", {graph.add("MatMul", {q, k})}, {{"axis", int64_t{2}}}), v}));
  EXPECT_TRUE(isomorphic(fused(graph), graph));
}

/// y = normalized(a + b), and the sum goes on where `sum_goes_on`.
Graph normalized_sum(bool sum_goes_on, bool with_shift) {
  Graph graph;
  const ValueId a = graph.add_input("a", f32({2, 3, 8})), b = graph.add_input("b", f32({2, 3, 8}));
  const ValueId sum = graph.add("Add", {a, b});
  const auto row = [&](const char* name) {
    Rng rng(5);
    return graph.add_constant(Weight::dense(testing::drawn(f32({8}), rng, -1, 1), name));
  };
  const Attributes attributes = {{"axis", int64_t{-1}}, {"epsilon", 0.25}};
  const ValueId scale = row("scale");
  const ValueId y = with_shift
                        ? graph.add("LayerNormalization", {sum, scale, row("shift")}, attributes)
                        : graph.add("LayerNormalization", {sum, scale}, attributes);
  graph.add_output("y", y);
  if (sum_goes_on)
    graph.add_output(
        "z", graph.add("MatMul", {sum, graph.add("Transpose", {y}, {{"perm", Ints{0, 2, 1}}})}));
  return graph;
}

TEST(FuseNormalization, TakesTheSumThatStandsBefore) {
  for (const bool goes_on : {false, true})
    for (const bool with_shift : {false, true}) {
      const Graph graph = normalized_sum(goes_on, with_shift);
      const Graph result = fused(graph);
      EXPECT_EQ(count(result, "SkipLayerNormalization"), 1);
      EXPECT_EQ(work(result), work(graph) - 1);
      expect_same_results(graph);
    }
}

TEST(FuseNormalization, OtherSumsAndAxesStayAsTheyAre) {
  Graph graph;
  const ValueId a = graph.add_input("a", f32({2, 8})), b = graph.add_input("b", f32({8}));
  const ValueId scale = graph.add_constant(Weight::constant(f32({8}), 2)),
                all = graph.add_constant(Weight::constant(f32({2, 8}), 2));
  graph.add_output("y", graph.add("LayerNormalization", {graph.add("Add", {a, b}), scale},
                                  {{"axis", int64_t{-1}}}));
  graph.add_output("z", graph.add("LayerNormalization", {graph.add("Add", {a, a}), all},
                                  {{"axis", int64_t{0}}}));
  EXPECT_EQ(count(fused(graph), "SkipLayerNormalization"), 0) << "a row is added; two axes";
  expect_same_results(graph);
}

}  // namespace
}  // namespace reverie
