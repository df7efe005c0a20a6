#include "core/exec/cpu/cpu_executor.h"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "core/base/sanitized.h"
#include "tests/core/exec/conformance.h"

namespace reverie {
namespace testing {

INSTANTIATE_TEST_SUITE_P(Cpu, ExecutorConformance, conformance_parameters([] {
                           return std::make_unique<CpuExecutor>(CpuOptions{.poison = true});
                         }),
                         conformance_name);

}  // namespace testing

namespace {

using testing::drawn_inputs;
using ::testing::ElementsAre;
using testing::expect_agreement;
using testing::f32;
using ::testing::Pair;

ValueId weight(Graph& graph, Shape shape, uint64_t seed) {
  Rng rng(seed);
  return graph.add_constant(Weight::dense(testing::drawn(f32(std::move(shape)), rng, -0.3, 0.3),
                                          fmt::format("w{}", seed)));
}

/// A residual block with pooling and branches: layouts flow, convert and meet.
Graph small_network() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 3, 16, 16}));
  const std::vector<int64_t> pads = {1, 1, 1, 1};
  const ValueId stem = graph.add("Conv", {x, weight(graph, {32, 3, 3, 3}, 1)}, {{"pads", pads}});
  const ValueId a = graph.add("Relu", {stem});
  const ValueId b = graph.add("Conv", {a, weight(graph, {32, 32, 3, 3}, 2)}, {{"pads", pads}});
  const ValueId sum = graph.add("Relu", {graph.add("Add", {b, a})});
  const ValueId left = graph.add("Conv", {sum, weight(graph, {16, 32, 1, 1}, 3)});
  const ValueId right = graph.add("Conv", {sum, weight(graph, {24, 32, 1, 1}, 4)});
  const ValueId both = graph.add("Concat", {left, right}, {{"axis", int64_t{1}}});
  const ValueId pooled = graph.add(
      "MaxPool", {both},
      {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  const ValueId flat = graph.add("Flatten", {graph.add("GlobalAveragePool", {pooled})});
  const ValueId logits = graph.add("Gemm", {flat, weight(graph, {40, 10}, 5)});
  graph.add_output("y", graph.add("Softmax", {logits}));
  graph.add_output("features", pooled);
  return graph;
}

/// Attention over 6 tokens, with folded work on constants and a weight used twice.
Graph attention() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 6, 32}));
  const ValueId shared = weight(graph, {32, 32}, 1);
  const auto heads = [&](ValueId w) {
    const ValueId split = graph.add("Reshape", {graph.add("MatMul", {x, w})},
                                    {{"shape", std::vector<int64_t>{1, 6, 4, 8}}});
    return graph.add("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  };
  const ValueId folded =
      graph.add("Transpose", {graph.add("Add", {shared, weight(graph, {32}, 2)})});
  const ValueId k =
      graph.add("Transpose", {heads(folded)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const ValueId scores = graph.add("Softmax", {graph.add("MatMul", {heads(shared), k})});
  const ValueId mixed =
      graph.add("Transpose", {graph.add("MatMul", {scores, heads(weight(graph, {32, 32}, 3))})},
                {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const ValueId joined = graph.add("Reshape", {mixed}, {{"shape", std::vector<int64_t>{1, 6, 32}}});
  graph.add_output("y", graph.add("Erf", {graph.add("Add", {joined, x})}));
  return graph;
}

/// Residuals that the adding kernel may and may not write over: used later, an output, an input, a
/// view of one, the kernel's own source, a conversion of layouts, and a constant.
Graph residuals() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 32, 8, 8}));
  uint64_t seed = 0;
  const auto conv = [&](ValueId from, ValueId residual) {
    const NodeId node = graph.add_node(
        op_named("Conv"), std::vector{from, weight(graph, {32, 32, 1, 1}, ++seed), {}, residual},
        {{"activation", std::string("relu")}});
    return graph.output(node);
  };
  const ValueId a = conv(x, x);
  const ValueId b = conv(a, x);
  const ValueId c = conv(b, a);
  const ValueId d = conv(c, c);
  const ValueId view = graph.add("Identity", {d});
  const ValueId e = conv(c, view);
  const ValueId f = conv(e, d);
  const ValueId swapped = graph.add("Transpose", {f}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const ValueId g = conv(f, swapped);
  const ValueId constant = weight(graph, {1, 32, 8, 8}, 100);
  const ValueId h = conv(conv(g, constant), constant);
  graph.add_output("b", b);
  graph.add_output("y", graph.add("Add", {h, swapped}));
  return graph;
}

TEST(CpuExecutor, RunsWholeModels) {
  for (const Graph& graph : {small_network(), attention(), residuals()}) {
    CpuExecutor executor({.poison = true});
    expect_agreement(executor, graph, -1, 1);
    EXPECT_THAT(executor.fallbacks(), ElementsAre());
  }
}

TEST(CpuExecutor, APlanRunsAgainAndAgain) {
  for (const Graph& graph : {small_network(), residuals()}) {
    CpuPlan plan(graph);
    CpuExecutor once;
    for (const uint64_t seed : {1, 2, 3}) {
      const std::vector<Tensor> inputs = drawn_inputs(graph, seed);
      const std::vector<Tensor> again = plan.run(inputs), expected = once.run(graph, inputs);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(again[i].to_doubles(), expected[i].to_doubles());
    }
  }
}

TEST(CpuExecutor, InputsOutliveTheRunForTheNext) {
  Graph graph;
  const ValueId indices = graph.add_input("i", {DType::kInt64, {64}});
  ValueId x = graph.add("Gather", {weight(graph, {4, 16}, 1), indices});
  for (int i = 0; i < 4; ++i) x = graph.add("Tanh", {x});
  graph.add_output("y", x);
  CpuPlan plan(graph);
  Rng rng(1);
  plan.draw_inputs(rng);
  for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(plan.execute());
}

TEST(CpuExecutor, WeightsComeFromTheirSource) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({100}));
  const auto filled = Weight::fill(f32({100}), 0, "zeros");
  graph.add_output("y", graph.add("Add", {x, graph.add_constant(filled)}));
  const auto ones = [](const Weight& one) {
    Tensor tensor(one.type());
    std::fill(tensor.data<float>().begin(), tensor.data<float>().end(), 1.0f);
    return tensor;
  };
  const std::vector<Tensor> inputs = drawn_inputs(graph, 1);
  EXPECT_EQ(CpuExecutor().run(graph, inputs, ones)[0].to_doubles()[7],
            static_cast<double>(inputs[0].data<float>()[7] + 1));
}

TEST(CpuExecutor, WorkOnConstantsIsDoneAheadOfTime) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4, 32}));
  const ValueId folded = graph.add("Transpose", {graph.add("Floor", {weight(graph, {32, 32}, 1)})});
  graph.add_output("y", graph.add("MatMul", {x, folded}));
  const CpuPlan plan(graph);
  EXPECT_EQ(plan.kernels(), 1);
  EXPECT_THAT(plan.fallbacks(), ElementsAre());
}

TEST(CpuExecutor, AConvolutionOfConstantsIsDoneAheadOfTime) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 7, 8, 8}));
  const std::vector<ValueId> constants = {weight(graph, {1, 5, 8, 8}, 1),
                                          weight(graph, {7, 5, 1, 1}, 2),
                                          {},
                                          weight(graph, {1, 7, 8, 8}, 3)};
  const NodeId folded = graph.add_node(op_named("Conv"), constants);
  graph.add_output("y", graph.add("Add", {x, graph.output(folded)}));
  EXPECT_EQ(CpuPlan(graph).kernels(), 1);
  CpuExecutor executor({.poison = true});
  expect_agreement(executor, graph, -1, 1);
}

TEST(CpuExecutor, ValuesThatDoNotLiveTogetherShareMemory) {
  Graph graph;
  ValueId x = graph.add_input("x", f32({1000}));
  for (int i = 0; i < 20; ++i) x = graph.add("Relu", {x});
  graph.add_output("y", x);
  EXPECT_LE(CpuPlan(graph).arena_bytes(), 3 * 4096);
}

TEST(CpuExecutor, FallbacksAreCounted) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4}));
  graph.add_output("y", graph.add("Ceil", {graph.add("Floor", {graph.add("Floor", {x})})}));
  CpuExecutor executor;
  executor.run(graph, drawn_inputs(graph, 1));
  EXPECT_THAT(executor.fallbacks(), ElementsAre(Pair("Ceil", 1), Pair("Floor", 2)));
}

/// Operators that run on the reference kernels, whatever their attributes.
bool has_no_kernel(const OpSchema& op) {
  static const std::set<std::string> names = {"LpPool",
                                              "GlobalLpPool",
                                              "GridSample",
                                              "LRN",
                                              "LpNormalization",
                                              "LSTM",
                                              "GRU",
                                              "RNN",
                                              "QuantizeLinear",
                                              "DequantizeLinear",
                                              "DynamicQuantizeLinear",
                                              "MatMulInteger",
                                              "QLinearMatMul",
                                              "ConvInteger",
                                              "QLinearConv"};
  return names.contains(op.name);
}

TEST(CpuExecutor, SupportsWhatItHasKernelsFor) {
  std::set<std::string> without = {"HardSigmoid",
                                   "Floor",
                                   "Ceil",
                                   "Equal",
                                   "Less",
                                   "Not",
                                   "Less_int64",
                                   "LessOrEqual",
                                   "LessOrEqual_int64",
                                   "Greater",
                                   "Greater_int64",
                                   "GreaterOrEqual",
                                   "GreaterOrEqual_int64",
                                   "And",
                                   "Or",
                                   "Transpose_tiles_int64",
                                   "Where",
                                   "Cast",
                                   "Pad_removes",
                                   "Pad_reflect",
                                   "Tile",
                                   "Expand",
                                   "Relu_int32",
                                   "Abs_int64",
                                   "Add_int64",
                                   "Mul_float64",
                                   "Pow_tensor",
                                   "ReduceSum_int64",
                                   "Concat_int64",
                                   "Slice_steps",
                                   "Gemm_beta",
                                   "LayerNormalization_one_scale",
                                   "Transpose_int64",
                                   "AveragePool_ceil_include_pad",
                                   "Add_both",
                                   "Sub_both",
                                   "Mul_both",
                                   "Div_both",
                                   "Min_both",
                                   "Max_both",
                                   "Resize_sizes",
                                   "Resize_int64",
                                   "Resize_broken_scale",
                                   "Resize_corners",
                                   "Resize_cubic",
                                   "InstanceNormalization_batch"};
  without.merge(testing::uncommon_names());
  for (const testing::OperatorCase& one : testing::fused_cases()) without.insert(one.name);
  const CpuExecutor executor;
  for (const testing::OperatorCase& one : testing::operator_cases()) {
    const NodeId node = one.graph.producer(one.graph.outputs()[0].value);
    const bool has_kernel = !without.count(one.name) && !has_no_kernel(one.graph.op(node));
    EXPECT_EQ(executor.supports(one.graph, node), has_kernel) << one.name;
  }
}

TEST(CpuExecutor, RefusesOpaqueNodesAndInputsThatDoNotFit) {
  CpuExecutor executor;
  testing::expect_refusals(executor);
}

TEST(CpuExecutor, ABoundThatAClipLacksIsNoNumber) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {3}});
  graph.add_output("y", graph.add("Clip", {x}, {{"min", 0.0}}));
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor inputs[] = {Tensor::of<float>({3}, {-infinity, 2, infinity})};
  EXPECT_THAT(CpuExecutor().run(graph, inputs).at(0).data<float>(), ElementsAre(0, 2, infinity));
}

TEST(CpuExecutor, AnInputCanBeAnOutput) {
  CpuExecutor executor;
  testing::expect_inputs_pass_through(executor);
}

/// Bytes by which the process grows at most meanwhile; nothing where the system does not tell.
std::optional<int64_t> growth_during(const std::function<void()>& work) {
  const auto bytes_of = [](const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(field)) return std::stoll(line.substr(field.size())) * 1024;
    return 0LL;
  };
  std::ofstream reset("/proc/self/clear_refs");
  if (!(reset << "5" << std::flush)) return std::nullopt;
  const int64_t before = bytes_of("VmRSS:");
  work();
  return bytes_of("VmHWM:") - before;
}

/// In the layout of the kernel; as rows in memory beside that they would take as much again.
TEST(CpuPlan, HoldsAFillOnceThatOnlyTimeIsTakenOf) {
  if (REVERIE_SANITIZED) GTEST_SKIP() << "sanitizers keep memory of their own";
  const TensorType type = {DType::kFloat32, {1024, 16384}};
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {16, type.shape[0]}});
  const ValueId w = graph.add_constant(Weight::fill(type, 2, "w"));
  graph.add_output("y", graph.add("MatMul", {x, w}));
  const auto growth = growth_during([&] {
    CpuPlan plan(graph, materialized, {.threads = 1, .free_layouts = true});
    Rng rng(1);
    plan.draw_inputs(rng);
    plan.execute();
  });
  if (!growth) GTEST_SKIP() << "the system does not tell how large the process was";
  EXPECT_LT(static_cast<double>(*growth), 1.5 * static_cast<double>(type.bytes()));
}

}  // namespace
}  // namespace reverie
