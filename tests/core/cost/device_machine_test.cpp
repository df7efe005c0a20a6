#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/cost/measured.h"
#include "tests/support/host_device.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using device::Call;
using device::Precision;
using ::testing::HasSubstr;
using testing::HostDevice;
using ::testing::Not;

constexpr TimingOptions kQuick = {.warm_up_seconds = 0, .min_samples = 5, .max_seconds = 0};

TensorType floats(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

/// MatMul of 8x32 by 32x32, Relu of 8x32.
Graph chain() {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({8, 32}));
  const auto w = graph.add_constant(Weight::fill(floats({32, 32}), 0.5, "w"));
  graph.add_output("y", graph.add("Relu", {graph.add("MatMul", {x, w})}));
  return graph;
}

OpSignature relu_of(int64_t elements) {
  Graph graph;
  const ValueId y = graph.add("Relu", {graph.add_input("x", floats({elements}))});
  graph.add_output("y", y);
  return signature_of(graph, graph.producer(y));
}

/// A product takes 5 us, everything else 2.
double microseconds(const Call& call) {
  return std::holds_alternative<device::Product>(call) ? 5e-6 : 2e-6;
}

std::shared_ptr<HostDevice> timed_device(Precision precision = Precision::kFloat32) {
  auto device = std::make_shared<HostDevice>(precision);
  device->time_of = microseconds;
  return device;
}

EndToEnd time_of(const EndToEndOptions& options) {
  return measure_interleaved({chain()}, options).graphs[0];
}

MeasureOptions on(std::shared_ptr<HostDevice> device, const std::string& directory = "") {
  return {.timing = kQuick,
          .machine = device_machine("host", "t4", std::move(device)),
          .directory = directory};
}

TEST(DeviceMachine, NamesItsPrecision) {
  EXPECT_EQ(on(timed_device()).machine->name(), "host");
  EXPECT_EQ(on(timed_device(Precision::kFloat16)).machine->name(), "host:fp16");
  EXPECT_EQ(on(timed_device()).machine->info().device, "host device, fp32");
}

TEST(DeviceMachine, AnOperatorTakesWhatOneRunOfItTakes) {
  const auto model = make_measured_cost_model(on(timed_device()));
  EXPECT_EQ(graph_cost(*model, chain()).runtime, Picoseconds::from_seconds(7e-6));
  EXPECT_EQ(model->counters().measurements, 2);
  EXPECT_EQ(model->counters().estimates, 0);
  EXPECT_EQ(model->name(), "host");
}

TEST(DeviceMachine, NothingThatAnOperatorUsesIsInTheCache) {
  const int64_t cache = HostDevice().info().cache_bytes;
  for (const int64_t elements : {int64_t{8}, int64_t{1024}, cache}) {
    const auto device = timed_device();
    on(device).machine->time_operator(relu_of(elements), kQuick);
    EXPECT_GT(device->launches, 5);
    EXPECT_EQ(device->warm_launches, 0) << elements;
  }
}

TEST(DeviceMachine, RunsSmallOperatorsOnManyCopiesAndLargeOnesOnTwo) {
  const int64_t cache = HostDevice().info().cache_bytes;
  const auto copies = [&](int64_t elements) {
    const auto device = timed_device();
    on(device).machine->time_operator(relu_of(elements), kQuick);
    const int64_t operators = device->most_allocated - 2 * cache;
    return operators / (2 * elements * static_cast<int64_t>(sizeof(float)));
  };
  EXPECT_EQ(copies(64), kMostCopies);
  EXPECT_EQ(copies(1024), 2 * cache / (2 * 1024 * static_cast<int64_t>(sizeof(float))) + 1);
  EXPECT_EQ(copies(cache), 2);
}

TEST(DeviceMachine, WhatTheHostTakesToLaunchIsNotInTheTime) {
  const auto device = timed_device();
  device->latency = 6e-6;
  const MeasureOptions options = on(device);
  EXPECT_NEAR(options.machine->time_operator(relu_of(64), kQuick).median, 2e-6, 1e-12);
  const EndToEnd time = time_of({.repeats = 5, .min_seconds = 0, .machine = options.machine});
  EXPECT_EQ(time.high, Picoseconds::from_seconds(7e-6));
}

TEST(DeviceMachine, WhatItHasNoKernelForIsEstimated) {
  const auto device = timed_device();
  device->refuses = [](const Call& call) { return std::holds_alternative<device::Product>(call); };
  const auto model = make_measured_cost_model(on(device));
  EXPECT_GT(graph_cost(*model, chain()).runtime, Picoseconds::from_seconds(2e-6));
  EXPECT_EQ(model->counters().measurements, 1);
  EXPECT_EQ(model->counters().estimates, 1);
  EXPECT_THROW(on(device).machine->time_operator(
                   signature_of(chain(), chain().producer(chain().inputs(
                                             chain().producer(chain().outputs()[0].value))[0])),
                   kQuick),
               InputError);
}

TEST(DeviceMachine, SaysOfTheFirstFewWhyTheyAreEstimated) {
  const auto device = timed_device();
  const auto model = make_measured_cost_model(on(device));
  device->memory_limit = device->allocated;
  ::testing::internal::CaptureStderr();
  for (const int64_t elements : {8, 16, 32, 64, 128}) model->cost(relu_of(elements));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(model->counters().estimates, 5);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 4);
  EXPECT_THAT(said, HasSubstr("Relu(float32 8): out of memory: "));
  EXPECT_THAT(said, Not(HasSubstr("float32 64")));
}

TEST(DeviceMachine, NothingIsEstimatedInPlaceOfADeviceThatFailed) {
  const TemporaryDirectory directory;
  const auto device = timed_device();
  const MeasureOptions options = on(device, directory.path());
  {
    const auto model = make_measured_cost_model(options);
    model->cost(relu_of(64));
    device->works_for = device->launches;
    EXPECT_THROW(model->cost(relu_of(128)), DeviceError);
    EXPECT_EQ(model->counters().estimates, 0);
  }
  EXPECT_EQ(read_cost_table(measured_table_path(options)).entries.size(), 1u);
}

TEST(DeviceMachine, TheTableKeepsWhereItComesFrom) {
  const TemporaryDirectory directory;
  const MeasureOptions options = on(timed_device(), directory.path());
  graph_cost(*make_measured_cost_model(options), chain());
  const CostTable table = read_cost_table(measured_table_path(options));
  EXPECT_EQ(table.device, "host device, fp32");
  EXPECT_EQ(table.library, "loops 1.0");
  EXPECT_EQ(table.driver, "1");
  EXPECT_EQ(table.lowest_clock_mhz, 1000);
  EXPECT_EQ(table.entries.size(), 2u);
  EXPECT_THAT(describe(table), HasSubstr("1000 to 1000 MHz"));
  EXPECT_NE(measured_table_path(options),
            measured_table_path(on(timed_device(Precision::kTf32), directory.path())));
}

TEST(DeviceMachine, TimesWholeGraphs) {
  const auto device = timed_device();
  EndToEndOptions options{.repeats = 7, .min_seconds = 0, .machine = on(device).machine};
  const EndToEnd time = time_of(options);
  EXPECT_EQ(time.median, Picoseconds::from_seconds(7e-6));
  EXPECT_EQ(time.fallbacks, 0);
  EXPECT_NEAR(PairedTimer(chain(), options).seconds(chain()).median, 7e-6, 1e-12);

  device->refuses = [](const Call& call) {
    return std::holds_alternative<device::Elementwise>(call);
  };
  const EndToEnd partly = time_of(options);
  EXPECT_EQ(partly.median, Picoseconds::from_seconds(5e-6));
  EXPECT_EQ(partly.fallbacks, 1);
}

TEST(Machine, IsFoundByItsName) {
  EXPECT_EQ(make_machine("cpu")->name(), "cpu");
  EXPECT_EQ(make_machine("cpu:2")->name(), "cpu:2");
  EXPECT_EQ(profile_of_machine("cuda:fp16"), "h200");
  EXPECT_EQ(machine_beside("", "roofline:t4")->name(), "cpu");
  EXPECT_EQ(machine_beside("", "cpu:2")->name(), "cpu:2");
  EXPECT_EQ(machine_beside("cpu", "cpu:2")->name(), "cpu");
  for (const char* wrong : {"", "gpu", "cpu:", "cuda:", "cuda:fp8", "roofline:t4"})
    EXPECT_THROW(make_machine(wrong), InputError) << wrong;
  EXPECT_THROW(profile_of_machine("gpu"), InputError);
}

TEST(Machine, OfAnotherKindIsKnownOnceRegistered) {
  EXPECT_FALSE(is_machine("borrowed:3"));
  register_machine(
      {.names = {"borrowed", "borrowed:<threads>"},
       .make =
           [](const auto& threads) { return cpu_machine(threads_named(threads.value_or("5"))); },
       .profile = [](const auto& threads) { return threads ? "h200" : "cpu"; }});
  EXPECT_EQ(make_machine("borrowed")->name(), "cpu:5");
  EXPECT_EQ(make_machine("borrowed:3")->name(), "cpu:3");
  EXPECT_EQ(profile_of_machine("borrowed:3"), "h200");
  EXPECT_TRUE(is_machine("borrowed:3"));
  const TemporaryDirectory cache;
  setenv("REVERIE_CACHE", cache.path().c_str(), 1);
  EXPECT_EQ(make_cost_model("borrowed:3")->name(), "cpu:3");
  unsetenv("REVERIE_CACHE");
  EXPECT_EQ(known_machines(),
            "cpu, cpu:<threads>, cuda, cuda:<precision>, borrowed or borrowed:<threads>");
  EXPECT_THAT(known_cost_sources(), HasSubstr("fitted:<file>, " + known_machines()));
  EXPECT_THROW(register_machine({.names = {"cpu:<more>"}, .make = {}, .profile = {}}),
               InternalError);
}

}  // namespace
}  // namespace reverie
