#include "core/exec/device/device_nodes.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/exec/device/device_executor.h"
#include "tests/core/exec/operator_cases.h"
#include "tests/support/host_device.h"

namespace reverie {
namespace {

using testing::drawn_inputs;
using ::testing::HasSubstr;
using testing::HostDevice;
using testing::operator_cases;

/// All nodes, in the queue in use.
void launch_all(DeviceNodes& nodes, const Graph& graph, const DeviceNodes::Values& values,
                std::byte* scratch) {
  for (const NodeId node : graph.topological_order()) nodes.launch(node, values, scratch);
}

TEST(DeviceNodes, ComputeWhatAPlanDoes) {
  HostDevice device;
  device.workspace = 100;
  int compared = 0;
  for (const auto& one : operator_cases()) {
    DevicePlan plan(device, one.graph);
    if (!plan.fallbacks().empty()) continue;
    SCOPED_TRACE(one.name);
    const std::vector<Tensor> inputs = drawn_inputs(one.graph, 1, one.low, one.high);
    DeviceNodes nodes(device, one.graph);
    const DeviceNodes::Values values = nodes.values();
    const device::DeviceMemory scratch(device, nodes.scratch_bytes());
    nodes.upload(inputs, values);
    launch_all(nodes, one.graph, values, scratch.get());
    const std::vector<Tensor> results = nodes.outputs(values), expected = plan.run(inputs);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].type(), expected[i].type());
      EXPECT_TRUE(std::ranges::equal(results[i].bytes(), expected[i].bytes()));
    }
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

/// relu(conv(x)) with pads that no kernel takes, so that a padded copy of x is made first.
Graph padded() {
  Graph graph;
  const ValueId x = graph.add_input("x", testing::f32({1, 2, 5, 5}));
  const auto w = graph.add_constant(Weight::fill(testing::f32({3, 2, 2, 2}), 0.5, "w"));
  graph.add_output(
      "y",
      graph.add("Relu", {graph.add("Conv", {x, w}, {{"pads", std::vector<int64_t>{1, 0, 0, 1}}})}));
  return graph;
}

TEST(DeviceNodes, RunsAtOnceShareNothingButWeights) {
  for (const bool is_shared : {false, true}) {
    HostDevice device;
    device.workspace = 100;
    device.need_queues(2);
    const Graph graph = padded();
    DeviceNodes nodes(device, graph);
    const DeviceNodes::Values first = nodes.values(), second = nodes.values();
    const device::DeviceMemory scratch(device, nodes.scratch_bytes());
    const device::DeviceMemory more(device, nodes.scratch_bytes());
    for (const auto* values : {&first, &second})
      nodes.upload(drawn_inputs(graph, 1, -1, 1), *values);
    launch_all(nodes, graph, first, scratch.get());
    device.use_queue(1);
    launch_all(nodes, graph, second, is_shared ? scratch.get() : more.get());
    device.synchronize();
    EXPECT_EQ(device.races.empty(), !is_shared);
    device.races.clear();
  }
}

TEST(DeviceNodes, WithoutAKernelTheyAreRefused) {
  HostDevice device;
  device.refuses = [](const device::Call& call) {
    return std::holds_alternative<device::Convolution>(call);
  };
  try {
    DeviceNodes nodes(device, padded());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("host device has no kernel for Conv"));
  }
}

}  // namespace
}  // namespace reverie
