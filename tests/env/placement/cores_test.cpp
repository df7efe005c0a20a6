#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/exec/cpu/cpu_executor.h"
#include "core/models/models.h"
#include "env/placement/cores/core_topology.h"
#include "env/placement/cores/model_on_cores.h"
#include "env/placement/cores/on_cores.h"
#include "env/placement/cores/reality_check.h"
#include "env/placement/cores/reality_report.h"
#include "env/placement/graph/model_graph.h"
#include "tests/env/placement/expect_refused.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::expect_refused;

int two_or_one() { return std::min(usable_cores(), 2); }

/// Largest difference as a share of the largest number.
double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.type(), b.type());
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double most = 0, largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    most = std::max(most, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(y[i]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_TRUE(std::isfinite(most));
  return most / largest;
}

std::vector<std::vector<int>> random_order(const CostGraph& graph, int cores, Rng& rng) {
  std::vector<std::vector<int>> order(static_cast<size_t>(cores));
  std::vector<size_t> of_group(static_cast<size_t>(graph.size()));
  for (const int node : graph.order()) {
    const int group = graph.nodes()[static_cast<size_t>(node)].group;
    size_t core = rng.below(static_cast<uint64_t>(cores));
    if (group >= 0) {
      if (of_group[static_cast<size_t>(group)] == 0)
        of_group[static_cast<size_t>(group)] = core + 1;
      core = of_group[static_cast<size_t>(group)] - 1;
    }
    order[core].push_back(node);
  }
  return order;
}

void expect_outputs_of_executor(const Graph& model) {
  CoreThreads threads(two_or_one());
  const std::vector<Tensor> inputs = drawn_inputs(model, 3);
  ModelOnCores on_cores(model, "m", inputs, threads);
  const std::vector<Tensor> expected = CpuExecutor({.threads = 1}).run(model, inputs);
  Rng rng(7);
  for (int placement = 0; placement < 4; ++placement) {
    on_cores.run(random_order(on_cores.graph(), threads.size(), rng));
    const std::vector<Tensor> outputs = on_cores.outputs();
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_LT(difference(outputs[i], expected[i]), 1e-4);
  }
}

TEST(ModelOnCores, OutputsAreThoseOfTheExecutorWhateverThePlacement) {
  expect_outputs_of_executor(build_model("squeezenet1_1", {.image = 64, .layers = 3}));
  expect_outputs_of_executor(build_model("nasrnn", {.layers = 2, .hidden = 32}));
}

TensorType floats(const Shape& shape) { return {DType::kFloat32, shape}; }

ValueId numbers(Graph& graph, const Shape& shape) {
  Tensor tensor(floats(shape));
  float next = 0.5;
  for (float& value : tensor.data<float>()) value = next = -0.9f * next;
  return graph.add_constant(Weight::dense(tensor));
}

/// A node with two outputs, a constant that is computed, views between nodes and as an output, an
/// input that is an output, and one that nobody reads.
Graph odd_model() {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({4, 6}));
  graph.add_input("unused", floats({2}));
  const ValueId y = graph.add_input("y", floats({3}));
  const NodeId split =
      graph.add_node(op_named("Split"), std::vector{x},
                     Attributes{{"axis", int64_t{0}}, {"split", std::vector<int64_t>{1, 3}}});
  const ValueId view = graph.add("Reshape", {graph.output(split, 1)}, {{"shape", Shape{6, 3}}});
  const ValueId folded = graph.add("Neg", {numbers(graph, {3})});
  const ValueId sum = graph.add("Add", {graph.add("Mul", {view, y}), folded});
  graph.add_output("flat", graph.add("Reshape", {sum}, {{"shape", Shape{18}}}));
  graph.add_output("first", graph.output(split, 0));
  graph.add_output("square", graph.add("Mul", {view, view}));
  graph.add_output("same", y);
  return graph;
}

TEST(ModelOnCores, RunsViewsConstantsAndSeveralOutputs) { expect_outputs_of_executor(odd_model()); }

TEST(ModelOnCores, GraphIsThatOfOtherDevices) {
  const Graph model = odd_model();
  const CostGraph expected = cost_graph_of(model, ideal_devices(1, "cpu"), "odd");
  const CoreProgram program = core_program(model, "odd");
  ASSERT_EQ(program.graph.size(), expected.size());
  EXPECT_THAT(program.graph.kinds(), ElementsAre("core"));
  for (int node = 0; node < expected.size(); ++node) {
    EXPECT_EQ(program.graph.nodes()[static_cast<size_t>(node)].name,
              expected.nodes()[static_cast<size_t>(node)].name);
    EXPECT_EQ(program.graph.cost(node, 0), expected.cost(node, 0));
  }
  ASSERT_EQ(program.graph.tensors().size(), expected.tensors().size());
  for (size_t i = 0; i < expected.tensors().size(); ++i)
    EXPECT_EQ(program.graph.tensors()[i].readers, expected.tensors()[i].readers);
}

TEST(ModelOnCores, OperatorsTakeTimeAndInputsNone) {
  const Graph model = odd_model();
  CoreThreads threads(two_or_one());
  const ModelOnCores on_cores(model, "odd", drawn_inputs(model, 1), threads);
  for (const auto others : {ModelOnCores::Others::kIdle, ModelOnCores::Others::kBusy}) {
    const std::vector<Picoseconds> times = on_cores.node_times(3, others);
    ASSERT_EQ(times.size(), on_cores.graph().nodes().size());
    for (size_t node = 0; node < times.size(); ++node)
      EXPECT_EQ(times[node] > Picoseconds{}, on_cores.graph().nodes()[node].op != "Input") << node;
  }
}

TEST(ModelOnCores, OpaqueOperatorIsRefused) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({4}));
  const NodeId opaque =
      graph.add_node(opaque_op(), std::vector{x},
                     std::make_shared<const Attributes>(Attributes{{"op", std::string("Strange")}}),
                     std::vector{floats({4})});
  graph.add_output("y", graph.output(opaque));
  expect_refused([&] { core_program(graph, "m"); }, "Strange");
}

TEST(CoreThreads, AFailureEndsTheWaitingOfOthersAndIsThrownAgain) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core";
  CoreThreads threads(2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(threads.run([&](int core) {
      if (core == 1) throw InputError("here");
      threads.wait_until([] { return false; });
    }),
                 InputError);
    std::atomic<int> sum = 0;
    threads.run([&](int core) {
      sum += core + 1;
      threads.meet([&] { EXPECT_EQ(sum, 3); });
    });
    EXPECT_EQ(sum, 3);
  }
}

TEST(CoreThreads, CallersTakeTurns) {
  CoreThreads threads(1);
  std::atomic<int> own[2] = {0, 0};
  const auto call = [&](int caller) {
    for (int round = 0; round < 2000; ++round) threads.run([&, caller](int) { ++own[caller]; });
  };
  std::thread other(call, 1);
  call(0);
  other.join();
  EXPECT_EQ(own[0], 2000);
  EXPECT_EQ(own[1], 2000);
}

TEST(CoreTopology, NamesAreCheckedAgainstThisMachine) {
  EXPECT_TRUE(names_cores("cores:2"));
  EXPECT_FALSE(names_cores("8xh100"));
  EXPECT_EQ(cores_named("cores:1"), 1);
  for (const std::string name : {"cores:0", "cores:", "cores:two", "cores:1x", "cores:-1"})
    expect_refused([&] { cores_named(name); }, name.c_str());
  const std::string many = "cores:" + std::to_string(usable_cores() + 1);
  expect_refused([&] { cores_named(many); }, many.c_str());
  expect_refused([&] { CoreThreads(usable_cores() + 1); },
                 std::to_string(usable_cores() + 1).c_str());
}

TEST(CoreTopology, LinksAreMeasured) {
  CoreThreads threads(two_or_one());
  const Topology topology = measured_core_topology(threads);
  ASSERT_EQ(topology.size(), threads.size());
  EXPECT_EQ(topology.devices[0].kind, "core");
  for (int from = 0; from < topology.size(); ++from)
    for (int to = 0; to < topology.size(); ++to)
      if (from != to) {
        EXPECT_GT(topology.link(from, to).latency, Picoseconds{});
        EXPECT_TRUE(std::isfinite(topology.link(from, to).bytes_per_second));
      }
}

TEST(OnCores, OnlyForwardPassesOfModelsAreTaken) {
  expect_refused([] { read_on_cores("generate:layers:200:1", open_cores("cores:1"), {}); },
                 "generate");
  expect_refused([] { read_on_cores("graph.json", open_cores("cores:1"), {}); },
                 "graph.json: is no ONNX model");
  PlacementInputConfig training;
  training.training = true;
  expect_refused([&] { read_on_cores("m.onnx", open_cores("cores:1"), training); },
                 "m.onnx: a training step");
}

CostGraph small_graph() {
  constexpr int64_t kMicrosecond = 1'000'000;
  const CostGraph bare =
      core_program(build_model("squeezenet1_1", {.image = 64, .layers = 3}), "small").graph;
  std::vector<Picoseconds> costs;
  for (int node = 0; node < bare.size(); ++node) costs.push_back({(node % 7) * kMicrosecond});
  return with_core_costs(bare, std::move(costs));
}

TEST(VariedPlacements, AreDistinctAndFollowTheSeed) {
  const CostGraph graph = small_graph();
  const Topology topology = ideal_devices(2, "core");
  Simulator simulator(graph, topology);
  const auto orders = [&](uint64_t seed) {
    std::vector<std::vector<std::vector<int>>> all;
    for (const DrawnPlacement& one : varied_placements(simulator, 50, seed)) {
      Timeline timeline;
      simulator.run(one.placement, Dispatch::kInOrder, &timeline);
      all.push_back(order_by_core(timeline, 2));
    }
    return all;
  };
  const auto first = orders(1);
  EXPECT_EQ(first.size(), 50u);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size());
  EXPECT_EQ(orders(1), first);
  EXPECT_NE(orders(2), first);
}

TEST(RealityCheck, EveryPlacementIsSimulatedAndRun) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core has but one placement";
  const Graph model = build_model("nasrnn", {.layers = 2, .hidden = 32});
  CoreThreads threads(2);
  ModelOnCores on_cores(model, "m", drawn_inputs(model, 1), threads);
  const CostGraph graph =
      with_core_costs(on_cores.graph(), on_cores.node_times(3, ModelOnCores::Others::kBusy));
  const Topology topology = measured_core_topology(threads);
  const RealityCheck check = check_reality(on_cores, graph, topology, 4, 1);
  ASSERT_EQ(check.placements.size(), 4u);
  for (const CheckedPlacement& one : check.placements) {
    EXPECT_GT(one.simulated, Picoseconds{});
    EXPECT_GT(one.measured, Picoseconds{});
    EXPECT_GE(one.lost, 0);
    EXPECT_LE(one.lost, 1);
  }
  EXPECT_LE(std::abs(check.match.spearman), 1);
  EXPECT_GT(check.match.ratio, 0);
  const Json json = reality_json(check);
  EXPECT_EQ(json.at("placements").get<int>(), 4);
  EXPECT_EQ(json.at("ratio").get<double>(), check.match.ratio);
  EXPECT_THAT(reality_text(check), ::testing::HasSubstr("4 placements"));
}

TEST(RealityCheck, OneCoreIsRefused) {
  const Graph model = odd_model();
  CoreThreads threads(1);
  ModelOnCores on_cores(model, "odd", drawn_inputs(model, 1), threads);
  expect_refused(
      [&] { check_reality(on_cores, on_cores.graph(), measured_core_topology(threads), 5, 1); },
      "one core");
}

}  // namespace
}  // namespace reverie
