#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/exec/cpu/cpu_executor.h"
#include "core/models/models.h"
#include "env/placement/graph/model_graph.h"
#include "env/placement/machine/core_topology.h"
#include "env/placement/machine/model_on_cores.h"
#include "env/placement/machine/on_devices.h"
#include "env/placement/machine/reality_check.h"
#include "env/placement/machine/reality_report.h"
#include "tests/env/placement/expect_refused.h"
#include "tests/env/placement/on_devices.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::expect_refused;
using testing::odd_model;

int two_or_one() { return std::min(usable_cores(), 2); }

void expect_outputs_of_executor(const Graph& model) {
  CoreThreads threads(two_or_one());
  const std::vector<Tensor> inputs = drawn_inputs(model, 3);
  const auto on_cores = model_on_cores(model, "m", inputs, threads);
  testing::expect_outputs(*on_cores, threads.size(),
                          testing::computed(model, CpuExecutor({.threads = 1}).run(model, inputs)));
}

TEST(ModelOnCores, OutputsAreThoseOfTheExecutorWhateverThePlacement) {
  expect_outputs_of_executor(build_model("squeezenet1_1", {.image = 64, .layers = 3}));
  expect_outputs_of_executor(build_model("nasrnn", {.layers = 2, .hidden = 32}));
}

TensorType floats(const Shape& shape) { return {DType::kFloat32, shape}; }

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
  const auto on_cores = model_on_cores(model, "odd", drawn_inputs(model, 1), threads);
  for (const auto others : {ModelOnDevices::Others::kIdle, ModelOnDevices::Others::kBusy}) {
    const std::vector<Picoseconds> times = on_cores->node_times(3, others);
    ASSERT_EQ(times.size(), on_cores->graph().nodes().size());
    for (size_t node = 0; node < times.size(); ++node)
      EXPECT_EQ(times[node] > Picoseconds{}, on_cores->graph().nodes()[node].op != "Input") << node;
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
  EXPECT_TRUE(names_own_devices("cores:2"));
  EXPECT_FALSE(names_own_devices("8xh100"));
  EXPECT_EQ(open_own_devices("cores:1")->topology().name, "cores:1");
  for (const std::string name : {"cores:0", "cores:", "cores:two", "cores:1x", "cores:-1"})
    expect_refused([&] { open_own_devices(name); }, name.c_str());
  const std::string many = "cores:" + std::to_string(usable_cores() + 1);
  expect_refused([&] { open_own_devices(many); }, many.c_str());
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

TEST(OnDevices, OnlyForwardPassesOfModelsAreTaken) {
  const auto core = open_own_devices("cores:1");
  expect_refused([&] { read_on_devices("generate:layers:200:1", core, {}); }, "generate");
  expect_refused([&] { read_on_devices("graph.json", core, {}); }, "graph.json: is no ONNX model");
  PlacementInputConfig training;
  training.training = true;
  expect_refused([&] { read_on_devices("m.onnx", core, training); }, "m.onnx: a training step");
}

CostGraph small_graph() {
  constexpr int64_t kMicrosecond = 1'000'000;
  const CostGraph bare =
      core_program(build_model("squeezenet1_1", {.image = 64, .layers = 3}), "small").graph;
  std::vector<Picoseconds> costs;
  for (int node = 0; node < bare.size(); ++node) costs.push_back({(node % 7) * kMicrosecond});
  return with_costs(bare, "core", std::move(costs));
}

TEST(VariedPlacements, AreDistinctAndFollowTheSeed) {
  const CostGraph graph = small_graph();
  const Topology topology = ideal_devices(2, "core");
  Simulator simulator(graph, topology);
  const auto orders = [&](uint64_t seed) {
    std::vector<OrderByDevice> all;
    for (const DrawnPlacement& one : varied_placements(simulator, 50, seed)) {
      Timeline timeline;
      simulator.run(one.placement, Dispatch::kInOrder, &timeline);
      all.push_back(order_by_device(timeline, 2));
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
  const auto on_cores = model_on_cores(model, "m", drawn_inputs(model, 1), threads);
  const CostGraph graph =
      with_costs(on_cores->graph(), "core", on_cores->node_times(3, ModelOnDevices::Others::kBusy));
  const Topology topology = measured_core_topology(threads);
  const RealityCheck check = check_reality(*on_cores, graph, topology, 4, 1);
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
  const auto on_cores = model_on_cores(model, "odd", drawn_inputs(model, 1), threads);
  expect_refused(
      [&] { check_reality(*on_cores, on_cores->graph(), measured_core_topology(threads), 5, 1); },
      "one device");
}

}  // namespace
}  // namespace reverie
