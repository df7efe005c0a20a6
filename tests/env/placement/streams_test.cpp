#include "env/placement/machine/streams.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "env/placement/machine/model_on_streams.h"
#include "env/placement/machine/node_programs.h"
#include "env/placement/machine/reality_check.h"
#include "env/placement/machine/stream_steps.h"
#include "env/placement/machine/stream_topology.h"
#include "env/placement/placement_solver.h"
#include "env/placement/search/place.h"
#include "tests/env/placement/expect_refused.h"
#include "tests/env/placement/on_devices.h"
#include "tests/env/placement/placements.h"
#include "tests/support/host_device.h"
#include "tests/support/random_graph.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::expect_refused;
using ::testing::HasSubstr;
using testing::HostDevice;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::odd_model;

/// On a device whose kernels all need working memory, and spoil it. The first of several placements
/// finds no values of an earlier run.
void expect_reference_outputs(const Graph& model, int streams) {
  HostDevice device;
  device.workspace = 64;
  const std::vector<Tensor> inputs = drawn_inputs(model, 3);
  const std::vector<Tensor> expected =
      testing::computed(model, ReferenceExecutor().run(model, inputs));
  for (const uint64_t seed : {1, 2}) {
    const auto on_streams = model_on_streams(model, "m", inputs, device, streams);
    testing::expect_outputs(*on_streams, streams, expected, seed);
  }
  EXPECT_GT(device.waits, 0);
}

TEST(ModelOnStreams, OutputsAreThoseOfTheReferenceWhateverThePlacement) {
  for (const int streams : {2, 4}) {
    expect_reference_outputs(build_model("squeezenet1_1", {.image = 32, .layers = 2}), streams);
    expect_reference_outputs(build_model("nasrnn", {.layers = 2, .hidden = 16}), streams);
    expect_reference_outputs(odd_model(), streams);
  }
}

TEST(ModelOnStreams, RandomGraphsComputeWhatTheReferenceDoes) {
  int checked = 0;
  for (uint64_t seed = 1; checked < 25; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_LT(seed, 500u) << "few graphs have kernels for all nodes";
    const Graph model = random_graph(seed, 15);
    try {
      HostDevice device;
      model_on_streams(model, "m", drawn_inputs(model, 3), device, 2);
    } catch (const InputError&) {
      continue;
    }
    expect_reference_outputs(model, 2 + static_cast<int>(seed % 3));
    ++checked;
  }
}

/// Of a run, without those by which streams begin and end together.
TEST(ModelOnStreams, WithoutAnyOneOfItsWaitsMemoryIsUsedInNoOrder) {
  constexpr int kStreams = 3;
  const Graph model = build_model("squeezenet1_1", {.image = 32, .layers = 2});
  HostDevice device;
  const auto on_streams = model_on_streams(model, "m", drawn_inputs(model, 1), device, kStreams);
  Rng rng(1);
  const OrderByDevice order = testing::random_order(on_streams->graph(), kStreams, rng);
  const int before = device.waits;
  on_streams->run(order);
  const int waits = (device.waits - before) / 2;
  EXPECT_GT(waits, 10);
  for (int wait = kStreams - 1; wait < waits - (kStreams - 1); ++wait) {
    device.dropped_wait = device.waits + wait;
    on_streams->run(order);
    EXPECT_THAT(std::exchange(device.races, {}), Not(IsEmpty())) << "wait " << wait;
  }
}

TEST(ModelOnStreams, NodesTakeWhatTheirKernelsDo) {
  const Graph model = odd_model();
  HostDevice device;
  device.time_of = [](const device::Call& call) {
    return std::holds_alternative<device::Movement>(call) ? 5e-6 : 2e-6;
  };
  const auto on_streams = model_on_streams(model, "odd", drawn_inputs(model, 1), device, 2);
  for (const auto others : {ModelOnDevices::Others::kIdle, ModelOnDevices::Others::kBusy}) {
    const std::vector<Picoseconds> times = on_streams->node_times(3, others);
    ASSERT_EQ(times.size(), on_streams->graph().nodes().size());
    for (size_t node = 0; node < times.size(); ++node) {
      const std::string& op = on_streams->graph().nodes()[node].op;
      EXPECT_NEAR(times[node].seconds(),
                  op == "Input"   ? 0
                  : op == "Split" ? 5e-6
                                  : 2e-6,
                  1e-11)
          << op;
    }
  }
}

TEST(ModelOnStreams, NodesThatShareWeightsAreFree) {
  const TensorType numbers{DType::kFloat32, {100}};
  Graph model;
  const ValueId x = model.add_input("x", numbers);
  const ValueId weight = model.add_constant(Weight::fill(numbers, 2, "w"));
  model.add_output("y", model.add("Mul", {model.add("Add", {x, weight}), weight}));
  HostDevice device;
  const auto on_streams = model_on_streams(model, "m", drawn_inputs(model, 1), device, 2);
  const auto is_free = [](const CostNode& node) { return node.group < 0; };
  EXPECT_FALSE(std::ranges::all_of(core_program(model, "m").graph.nodes(), is_free));
  EXPECT_TRUE(std::ranges::all_of(on_streams->graph().nodes(), is_free));
}

TEST(ModelOnStreams, WhatHasNoKernelIsRefused) {
  HostDevice device;
  device.refuses = [](const device::Call& call) {
    return std::holds_alternative<device::Movement>(call);
  };
  const Graph model = odd_model();
  expect_refused([&] { model_on_streams(model, "m", drawn_inputs(model, 1), device, 2); },
                 "has no kernel for Split");
}

/// 0 is read by all others, 1 and 2 by 3.
TEST(StreamSteps, WaitForWhatNothingElseOrders) {
  const CostGraph graph =
      testing::graph_of({1, 1, 1, 1}, {{.producer = 0, .bytes = 1, .readers = {1, 2, 3}},
                                       {.producer = 1, .bytes = 1, .readers = {3}},
                                       {.producer = 2, .bytes = 1, .readers = {3}}});
  const auto waits = [&](const OrderByDevice& order) {
    std::vector<std::vector<int>> by_node(4);
    for (const StreamStep& step : stream_steps(graph, order))
      by_node[static_cast<size_t>(step.node)] = step.after;
    return by_node;
  };
  EXPECT_THAT(waits({{0, 3}, {1}, {2}}), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0),
                                                     ::testing::UnorderedElementsAre(1, 2)));
  EXPECT_THAT(waits({{0}, {1, 2}, {3}}),
              ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(2)))
      << "2 follows 1, and 3 follows 0 by 2";
  EXPECT_THAT(waits({{0, 1, 2, 3}, {}}), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty()));
}

TEST(StreamSteps, StreamsThatWaitForEachOtherAreABrokenInvariant) {
  const CostGraph graph = testing::graph_of(
      {1, 1, 1, 1},
      {{.producer = 0, .bytes = 1, .readers = {1}}, {.producer = 2, .bytes = 1, .readers = {3}}});
  EXPECT_THROW(stream_steps(graph, {{1, 2}, {3, 0}}), InternalError);
}

TEST(StreamTopology, LinksTakeWhatAWaitTakes) {
  HostDevice device;
  device.seconds_of_wait = 3e-6;
  const Topology topology = measured_stream_topology(device, 4);
  ASSERT_EQ(topology.size(), 4);
  EXPECT_EQ(topology.name, "streams:4");
  EXPECT_EQ(topology.devices[3].name, "stream3");
  EXPECT_EQ(topology.devices[3].kind, "stream");
  EXPECT_NEAR(topology.link(1, 3).latency.seconds(), 3e-6, 1e-7);
  EXPECT_TRUE(std::isinf(topology.link(1, 3).bytes_per_second));
  device.seconds_of_wait = 0;
  EXPECT_EQ(measured_stream_topology(device, 2).link(0, 1).latency, Picoseconds{});
}

std::shared_ptr<HostDevice> timed_device() {
  auto device = std::make_shared<HostDevice>();
  device->computes = false;
  device->time_of = [](const device::Call& call) {
    return std::holds_alternative<device::Convolution>(call) ? 40e-6 : 10e-6;
  };
  device->seconds_of_wait = 2e-6;
  return device;
}

/// The host device's streams are as the simulator has them, so that it tells what they take.
TEST(Streams, AModelIsPlacedRunAndComparedWithItsSimulation) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/m.onnx";
  export_onnx(build_model("inception_small"), {}, file);
  for (const int streams : {2, 4}) {
    const OnDevices on = read_on_devices(file, streams_of(timed_device(), streams), {});
    const Topology& topology = on.devices->topology();
    const RealityCheck check = check_reality(*on.model, on.input.graph, topology, 12, 1);
    ASSERT_EQ(check.placements.size(), 12u);
    EXPECT_EQ(check.disturbed, 0);
    EXPECT_GT(check.match.spearman, 0.95);
    EXPECT_LT(check.match.mean_error, 0.01);
    PlaceOptions options;
    options.budget.evaluations = 3;
    options.measure = measure_schedules(on);
    const PlaceResult placed = place(on.input.graph, topology,
                                     std::vector{place_method(place_methods(), "local")}, options);
    EXPECT_TRUE(placed.measured);
    EXPECT_EQ(check.placements[0].from, "one_device");
    EXPECT_LT(placed.methods[0].outcome.makespan, check.placements[0].measured);
  }
}

TEST(Streams, NumbersAreChecked) {
  EXPECT_TRUE(names_own_devices("streams:2"));
  for (const std::string name : {"streams:1", "streams:17", "streams:", "streams:two"})
    expect_refused([&] { open_own_devices(name); },
                   ("'" + name + "' needs a number of streams from 2 to 16").c_str());
}

TEST(Streams, WithoutAGpuThereIsOneLine) {
  try {
    EXPECT_EQ(open_own_devices("streams:2")->topology().size(), 2);
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("streams:2: "));
    EXPECT_THAT(error.what(), HasSubstr("CUDA"));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace reverie
