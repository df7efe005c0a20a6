#include "core/exec/device/device_executor.h"

#include <gmock/gmock.h>

#include "tests/core/exec/device/low_precision.h"
#include "tests/core/exec/device/random_tree.h"
#include "tests/support/host_device.h"
#include "tests/support/random_graph.h"

namespace reverie {
namespace testing {

INSTANTIATE_TEST_SUITE_P(Device, ExecutorConformance, conformance_parameters([] {
                           auto device = std::make_shared<HostDevice>();
                           device->workspace = 1000;
                           return std::make_unique<DeviceExecutor>("host", device, true);
                         }),
                         conformance_name);

}  // namespace testing

namespace {

using device::Precision;
using ::testing::AllOf;
using testing::drawn_inputs;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::expect_agreement;
using testing::f32;
using ::testing::Ge;
using ::testing::HasSubstr;
using testing::HostDevice;
using ::testing::IsEmpty;
using ::testing::Lt;
using testing::of;
using testing::operator_cases;
using ::testing::Pair;

std::map<std::string, int> fallbacks_of(HostDevice& device, const Graph& graph) {
  return DevicePlan(device, graph).fallbacks();
}

/// Operators that no device has kernels for.
bool has_no_kernel(const Graph& graph) {
  static const std::set<std::string> names = {"ConvTranspose",
                                              "LpPool",
                                              "GlobalLpPool",
                                              "Resize",
                                              "GridSample",
                                              "InstanceNormalization",
                                              "Gelu",
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
  return names.contains(graph.op(graph.producer(graph.outputs()[0].value)).name);
}

/// What of the others has no kernel on any device, by the names of the conformance cases.
TEST(DeviceExecutor, SaysWhatFallsBackToTheHost) {
  HostDevice device;
  std::set<std::string> cases;
  const std::set<std::string> uncommon = testing::uncommon_names();
  for (const auto& one : operator_cases())
    if (has_no_kernel(one.graph) || uncommon.contains(one.name))
      EXPECT_FALSE(fallbacks_of(device, one.graph).empty()) << one.name;
    else if (!fallbacks_of(device, one.graph).empty())
      cases.insert(one.name);
  EXPECT_THAT(cases, ElementsAre("Gemm_beta", "LayerNormalization_one_scale", "Mul_float64",
                                 "Pad_reflect", "Pad_removes", "ReduceSum_int64"));
}

TEST(DeviceExecutor, RefusesWhatDoesNotFit) {
  DeviceExecutor executor("host", std::make_shared<HostDevice>());
  testing::expect_refusals(executor);
}

ValueId weight(Graph& graph, Shape shape, uint64_t seed) {
  Rng rng(seed);
  return graph.add_constant(Weight::dense(testing::drawn(f32(std::move(shape)), rng, -0.3, 0.3),
                                          fmt::format("w{}", seed)));
}

/// Convolutions in branches, one of which the device may not have; a residual; a product.
Graph network() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 4, 8, 8}));
  const ValueId a = graph.add("Conv", {x, weight(graph, {6, 4, 3, 3}, 1), weight(graph, {6}, 2)},
                              Attributes{{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  const ValueId b = graph.add("Erf", {graph.add("Conv", {x, weight(graph, {6, 4, 1, 1}, 3)})});
  const ValueId sum = graph.add("Relu", {graph.add("Add", {a, b})});
  const ValueId pooled = graph.add("GlobalAveragePool", {sum});
  const ValueId row =
      graph.add("Reshape", {pooled}, Attributes{{"shape", std::vector<int64_t>{1, 6}}});
  graph.add_output("y", graph.add("MatMul", {row, weight(graph, {6, 5}, 4)}));
  graph.add_output("z", sum);
  return graph;
}

TEST(DeviceExecutor, RunsWholeGraphsWithNodesOnTheHost) {
  for (const bool refuses : {false, true}) {
    auto device = std::make_shared<HostDevice>();
    device->workspace = 64;
    if (refuses)
      device->refuses = [](const device::Call& call) {
        return std::holds_alternative<device::Pointwise>(call);
      };
    DeviceExecutor executor("host", device, true);
    expect_agreement(executor, network(), -1, 1);
    if (refuses) {
      EXPECT_THAT(executor.fallbacks(), ElementsAre(Pair("Pointwise", 2)));
    } else {
      EXPECT_THAT(executor.fallbacks(), IsEmpty());
    }
  }
}

TEST(DeviceExecutor, FusesTreesOfElementwiseNodes) {
  HostDevice device;
  const DevicePlan plan(device, network());
  EXPECT_EQ(plan.kernels(), 5);  // two convolutions, Erf with Add and Relu, the mean, the product
  EXPECT_THAT(plan.fallbacks(), IsEmpty());
}

TEST(DeviceExecutor, FusedTreesComputeTheSame) {
  testing::expect_fused_trees_agree(
      [](Precision precision) { return std::make_shared<HostDevice>(precision); });
}

TEST(DeviceExecutor, RandomGraphsRunFused) {
  int fused_kernels = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    auto device = std::make_shared<HostDevice>();
    device->refuses = [&](const device::Call& call) {
      fused_kernels += std::holds_alternative<device::Pointwise>(call);
      return false;
    };
    DeviceExecutor executor("host", device, true);
    expect_agreement(executor, random_graph(seed, 30), -1, 1, 1e-3);
  }
  EXPECT_GT(fused_kernels, 20);
}

TEST(DeviceExecutor, KnowsWhatItSupports) {
  auto device = std::make_shared<HostDevice>();
  device->refuses = [](const device::Call& call) {
    return std::holds_alternative<device::Product>(call);
  };
  const DeviceExecutor executor("host", device);
  const Graph graph = network();
  for (const NodeId node : graph.nodes())
    EXPECT_EQ(executor.supports(graph, node), !graph.op(node).is("MatMul")) << graph.op(node).name;
}

TEST(DeviceExecutor, APlanRunsAgainAndAgainAndGivesItsMemoryBack) {
  HostDevice device;
  {
    const Graph graph = network();
    DevicePlan plan(device, graph);
    auto once = std::make_shared<HostDevice>();
    DeviceExecutor executor("host", once);
    for (const uint64_t seed : {1, 2, 3}) {
      const std::vector<Tensor> inputs = drawn_inputs(graph, seed);
      EXPECT_EQ(plan.run(inputs)[0].to_doubles(), executor.run(graph, inputs)[0].to_doubles());
    }
    EXPECT_EQ(device.allocated, plan.weight_bytes() + plan.arena_bytes());
  }
  EXPECT_EQ(device.allocated, 0);
}

TEST(DeviceExecutor, RowsOfATableAreDrawnAtRandom) {
  HostDevice device;
  Graph graph;
  const ValueId table = graph.add_input("t", f32({40, 2}));
  const ValueId rows = graph.add_input("i", of(DType::kInt64, {100}));
  graph.add_output("y", graph.add("Gather", {table, rows}));
  DevicePlan plan(device, graph);
  Rng rng(1);
  plan.draw_inputs(rng);
  std::vector<int64_t> drawn(100);
  ASSERT_EQ(device.last_upload.size(), drawn.size() * sizeof(int64_t));
  std::memcpy(drawn.data(), device.last_upload.data(), device.last_upload.size());
  EXPECT_THAT(drawn, Each(AllOf(Ge(0), Lt(40))));
  EXPECT_GT(std::set<int64_t>(drawn.begin(), drawn.end()).size(), 25u);
  plan.launch();
  EXPECT_NO_THROW(device.synchronize());
}

TEST(DeviceExecutor, ALaunchCanBeRecorded) {
  HostDevice device;
  const Graph graph = network();
  DevicePlan plan(device, graph);
  const std::vector<Tensor> inputs = drawn_inputs(graph, 1);
  plan.run(inputs);
  const int before = device.launches;
  const auto recording = device.record([&] { plan.launch(); });
  device.synchronize();
  EXPECT_EQ(device.launches, before);
  recording->launch();
  recording->launch();
  device.synchronize();
  EXPECT_EQ(device.launches, before + 2 * plan.kernels());
}

TEST(DeviceExecutor, EveryOperatorAtLowerPrecision) {
  testing::expect_operators_agree_at_lower_precision(
      [](Precision precision) { return std::make_shared<HostDevice>(precision); });
}

TEST(DeviceExecutor, AGraphAtLowerPrecisionIsHalfAsLarge) {
  const Graph graph = network();
  for (const Precision precision : {Precision::kFloat16, Precision::kBFloat16}) {
    auto device = std::make_shared<HostDevice>(precision);
    DeviceExecutor executor("host", device, true);
    expect_agreement(executor, graph, -1, 1, testing::tolerance_of(precision));
    EXPECT_EQ(2 * DevicePlan(*device, graph).weight_bytes(),
              DevicePlan(*std::make_shared<HostDevice>(), graph).weight_bytes());
  }
}

TEST(DeviceExecutor, NoRoomIsOneLineWithSizes) {
  HostDevice device;
  device.memory_limit = 1000;
  try {
    const DevicePlan plan(device, network());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("of 1000 free"));
  }
}

TEST(DeviceExecutor, AnIndexOutOfRangeIsRefused) {
  Graph graph;
  const ValueId table = weight(graph, {3, 2}, 1);
  const ValueId index = graph.add_input("i", of(DType::kInt64, {2}));
  graph.add_output("y", graph.add("Gather", {table, index}));
  DeviceExecutor executor("host", std::make_shared<HostDevice>());
  const std::vector<Tensor> good = {Tensor::of<int64_t>({2}, {-3, 2})};
  EXPECT_NO_THROW(executor.run(graph, good));
  for (const int64_t bad : {3, -4})
    EXPECT_THROW(executor.run(graph, std::vector{Tensor::of<int64_t>({2}, {0, bad})}), InputError);
}

}  // namespace
}  // namespace reverie
