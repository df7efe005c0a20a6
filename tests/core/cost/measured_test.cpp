#include "core/cost/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

constexpr TimingOptions kQuick{
    .warm_up_seconds = 0, .target_spread = 1, .min_samples = 5, .max_seconds = 0.001};

TensorType floats(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

/// A chain with two equal operators, a view, and work on constants.
Graph chain() {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({8, 32}));
  const auto w = graph.add_constant(Weight::fill(floats({32, 32}), 0.5, "w"));
  const ValueId folded = graph.add("Transpose", {w});
  const ValueId y = graph.add("Relu", {graph.add("MatMul", {x, folded})});
  const ValueId flat =
      graph.add("Reshape", {graph.add("Relu", {y})}, {{"shape", std::vector<int64_t>{256}}});
  graph.add_output("y", flat);
  return graph;
}

MeasureOptions in(const std::string& directory) {
  return {.timing = kQuick, .directory = directory};
}

TEST(MeasuredCost, EachSignatureIsMeasuredOnce) {
  const auto model = make_measured_cost_model(in(""));
  const Cost first = graph_cost(*model, chain());
  EXPECT_EQ(model->counters().measurements, 2);  // MatMul and Relu
  EXPECT_EQ(model->counters().lookups, 4);
  EXPECT_EQ(graph_cost(*model, chain()), first);
  EXPECT_EQ(model->counters().measurements, 2);
  EXPECT_GT(first.runtime.count, 0);
  EXPECT_EQ(first.launches, 3);
  EXPECT_EQ(model->source(), CostSource::kMeasured);
}

/// Inputs of integers are noughts, and so are constants.
TEST(MeasuredCost, WhatCannotBeRunOnMadeUpInputsIsEstimated) {
  Graph graph;
  const TensorType type{DType::kInt64, {8}};
  const ValueId x = graph.add_input("x", type);
  const ValueId c = graph.add_constant(Weight::fill(type, 3, "c"));
  graph.add_output("y", graph.add("Div", {graph.add("Div", {x, c}), x}));
  const auto model = make_measured_cost_model(in(""));
  EXPECT_GT(graph_cost(*model, graph).runtime.count, 0);
  EXPECT_EQ(model->counters().estimates, 2);
  EXPECT_EQ(model->counters().measurements, 0);
}

TEST(MeasuredCost, AKeptMeasurementIsNotRepeated) {
  const TemporaryDirectory directory;
  const Cost measured = graph_cost(*make_measured_cost_model(in(directory.path())), chain());
  const auto again = make_measured_cost_model(in(directory.path()));
  EXPECT_EQ(graph_cost(*again, chain()), measured);
  EXPECT_EQ(again->counters().measurements, 0);
  const CostTable table = read_cost_table(measured_table_path(in(directory.path())));
  EXPECT_EQ(table.entries.size(), 2u);
  EXPECT_GE(table.entries.begin()->second.repeats, 5);
  const auto recorded = make_table_cost_model(measured_table_path(in(directory.path())));
  EXPECT_EQ(graph_cost(*recorded, chain()), measured);
}

TEST(MeasuredCost, WhatIsNewWhenTheTimeIsOverIsEstimatedFromWhatWasMeasured) {
  const TemporaryDirectory directory;
  const Cost measured = graph_cost(*make_measured_cost_model(in(directory.path())), chain());
  MeasureOptions options = in(directory.path());
  options.time_limit = 1e-9;
  const auto late = make_measured_cost_model(options);
  EXPECT_EQ(graph_cost(*late, chain()), measured);
  EXPECT_EQ(late->counters().estimates, 0);
  EXPECT_EQ(estimated_share(measured), 0);
  Graph other;
  other.add_output("y", other.add("Relu", {other.add_input("x", floats({64, 64}))}));
  other.add_output("z", other.add("Tanh", {other.outputs()[0].value}));
  const std::string path = measured_table_path(options);
  EXPECT_EQ(graph_cost(*late, other), graph_cost(*make_table_cost_model(path), other));
  EXPECT_EQ(late->counters().estimates, 2);
  EXPECT_EQ(estimated_share(graph_cost(*late, other)), 1);
  EXPECT_EQ(late->counters().measurements, 0);
  options.directory = "";
  EXPECT_GT(graph_cost(*make_measured_cost_model(options), other).runtime.count, 0);
  EXPECT_EQ(read_cost_table(path).entries.size(), 2u);
}

TEST(MeasuredCost, TwoAtOnceKeepWhatBothMeasured) {
  const TemporaryDirectory directory;
  auto a = make_measured_cost_model(in(directory.path()));
  auto b = make_measured_cost_model(in(directory.path()));
  graph_cost(*a, chain());
  Graph other;
  other.add_output("y", other.add("Tanh", {other.add_input("x", floats({16}))}));
  graph_cost(*b, other);
  a.reset();
  b.reset();
  EXPECT_EQ(read_cost_table(measured_table_path(in(directory.path()))).entries.size(), 3u);
}

TEST(MeasuredCost, ManyThreadsMeasureOnce) {
  const auto model = make_measured_cost_model(in(""));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { graph_cost(*model, chain()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(model->counters().measurements, 2);
}

TEST(MeasuredCost, ADamagedTableIsRefused) {
  const TemporaryDirectory directory;
  create_directory(directory / "costs");
  write_file(measured_table_path(in(directory.path())), "no table");
  EXPECT_THROW(make_measured_cost_model(in(directory.path())), InputError);
  EXPECT_THROW(make_measured_cost_model(in("/proc/none")), InputError);
}

TEST(MeasuredCost, OpaqueOperatorsAreEstimated) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({4}));
  const NodeId opaque = graph.add_node(
      opaque_op(), std::vector{x},
      std::make_shared<const Attributes>(Attributes{
          {"op", std::string("Magic")}, {"domain", std::string()}, {"proto", std::string()}}),
      std::vector{floats({4})});
  graph.add_output("y", graph.output(opaque));
  const auto model = make_measured_cost_model(in(""));
  EXPECT_GT(graph_cost(*model, graph).runtime.count, 0);
  EXPECT_EQ(model->counters().measurements, 0);
  EXPECT_EQ(model->counters().estimates, 1);
}

TEST(MeasuredCost, TakesItsThreadsFromTheName) {
  TemporaryDirectory directory;
  setenv("REVERIE_CACHE", directory.path().c_str(), 1);
  EXPECT_EQ(make_cost_model("cpu")->name(), "cpu");
  EXPECT_EQ(make_cost_model("cpu:1")->name(), "cpu");
  EXPECT_EQ(make_cost_model("cpu:2")->name(), "cpu:2");
  for (const char* wrong : {"cpu:", "cpu:0", "cpu:two", "cpu:2x"})
    EXPECT_THROW(make_cost_model(wrong), InputError) << wrong;
  unsetenv("REVERIE_CACHE");
}

TEST(EndToEnd, TimesAWholeGraph) {
  const EndToEnd time = measure_interleaved({chain()}, {.repeats = 7, .min_seconds = 0}).graphs[0];
  EXPECT_EQ(time.repeats, 7);
  EXPECT_LE(time.low, time.median);
  EXPECT_LE(time.median, time.high);
  EXPECT_GT(time.low.count, 0);
  EXPECT_EQ(time.fallbacks, 0);
}

TEST(EndToEnd, PairedRatiosAreToTheFirst) {
  const Interleaved both =
      measure_interleaved({chain(), chain()}, {.repeats = 9, .min_seconds = 0});
  ASSERT_EQ(both.graphs.size(), 2u);
  EXPECT_EQ(both.graphs[1].repeats, 9);
  EXPECT_EQ(both.ratio_to_first[0].median, 1);
  EXPECT_GT(both.ratio_to_first[1].low, 0);
  EXPECT_THROW(measure_interleaved({}), InputError);
}

TEST(EndToEnd, PairedTimesAreMultiplesOfTheOriginals) {
  PairedTimer timer(chain(), {.repeats = 11, .min_seconds = 0});
  for (int i = 0; i < 2; ++i) {
    const MedianInterval time = timer.seconds(chain());
    EXPECT_EQ(time.samples, 11);
    EXPECT_GT(time.low, 0);
    EXPECT_LE(time.low, time.median);
    EXPECT_LE(time.median, time.high);
  }
}

TEST(Timing, StopsAtItsLimits) {
  int calls = 0;
  const MedianInterval time = time_repeatedly([&] { ++calls; }, kQuick);
  EXPECT_GE(time.samples, 5);
  EXPECT_GE(calls, time.samples);
}

}  // namespace
}  // namespace reverie
