#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/cost/graph_summary.h"
#include "core/cost/measured.h"
#include "core/cost/profile.h"
#include "core/cost/recording_costs.h"
#include "core/cost/roofline.h"
#include "core/cost/table.h"
#include "core/exec/device/fuse.h"
#include "tests/support/host_device.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::HostDevice;

TensorType floats(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

/// A softmax, then three operators that become one kernel with a constant.
Graph chain() {
  Graph graph;
  const ValueId x = graph.add("Softmax", {graph.add_input("x", floats({8, 32}))});
  const ValueId scale = graph.add_constant(Weight::fill(floats({32}), 0.5, "scale"));
  const ValueId sum = graph.add("Add", {graph.add("Mul", {x, scale}), x});
  graph.add_output("y", graph.add("Elu", {sum}, {{"alpha", 0.3}}));
  return graph;
}

/// A softmax takes 5 us, a fused kernel 3, everything else 2.
double microseconds(const device::Call& call) {
  if (std::holds_alternative<device::Softmax>(call)) return 5e-6;
  return std::holds_alternative<device::Pointwise>(call) ? 3e-6 : 2e-6;
}

MeasureOptions on_device() {
  const auto device = std::make_shared<HostDevice>();
  device->time_of = microseconds;
  return {.timing = {.warm_up_seconds = 0, .min_samples = 5, .max_seconds = 0},
          .machine = device_machine("host", "h200", device),
          .directory = ""};
}

TEST(FusedCosts, AMachineThatFusesHasRunningCosts) {
  const auto model = make_measured_cost_model(on_device());
  EXPECT_TRUE(model->fuses());
  EXPECT_EQ(graph_cost(*model, chain()).runtime, Picoseconds::from_seconds(11e-6));
  const Cost running = running_cost(*model, chain());
  EXPECT_EQ(running.runtime, Picoseconds::from_seconds(8e-6));
  EXPECT_EQ(running.launches, 2);
  EXPECT_EQ(running.flops, graph_cost(*model, chain()).flops);
  EXPECT_LT(running.bytes, graph_cost(*model, chain()).bytes);
  EXPECT_EQ(model->counters().estimates, 0);
}

/// What is timed end to end is what the sum says.
TEST(FusedCosts, AreThoseOfWhatRuns) {
  const MeasureOptions options = on_device();
  const auto model = make_measured_cost_model(options);
  EXPECT_NEAR(options.machine->ready(chain())->seconds_of_run(),
              running_cost(*model, chain()).runtime.seconds(), 1e-12);
}

TEST(FusedCosts, OtherSourcesAddUpOperators) {
  const auto roofline = make_roofline(device_profile("h200"));
  EXPECT_FALSE(roofline->fuses());
  EXPECT_EQ(running_cost(*roofline, chain()), graph_cost(*roofline, chain()));
  EXPECT_LT(graph_cost(*roofline, fused(chain())).runtime, graph_cost(*roofline, chain()).runtime);
  EXPECT_FALSE(cpu_machine()->fuses());
  EXPECT_TRUE(machine_fuses("cuda:fp16"));
  EXPECT_FALSE(machine_fuses("cpu"));
}

TEST(FusedCosts, ASignatureHasATextThatIsReadAgain) {
  const Graph graph = fused(chain());
  int seen = 0;
  for (const NodeId node : graph.nodes()) {
    if (!graph.op(node).is("Pointwise")) continue;
    const OpSignature signature = signature_of(graph, node);
    EXPECT_EQ(signature.text(),
              "Pointwise(float32 8x32, const float32 32) {program=\"t0 = Mul(x0, x1); "
              "t1 = Add(t0, x0); y = Elu(t1) {alpha=0.3}\"}");
    EXPECT_EQ(parse_signature(signature.text()), signature);
    ++seen;
  }
  EXPECT_EQ(seen, 1);
}

/// Of those operators.
void profile(const Graph& graph, const std::string& table) {
  RecordingCosts recorder(make_roofline(device_profile("h200")));
  graph_cost(recorder, graph);
  ProfileOptions options;
  options.measure = on_device();
  options.measure.table = table;
  const ProfileResult result = profile_operators(recorder.signatures(), options);
  EXPECT_EQ(result.unmeasured, 0);
}

TEST(FusedCosts, ATableFusesWhereItHasFusedOperators) {
  const TemporaryDirectory directory;
  profile(chain(), directory / "plain.h5");
  const auto plain = make_table_cost_model(directory / "plain.h5");
  EXPECT_FALSE(plain->fuses());
  EXPECT_EQ(running_cost(*plain, chain()).runtime, Picoseconds::from_seconds(11e-6));

  profile(chain(), directory / "fused.h5");
  profile(fused(chain()), directory / "fused.h5");
  const auto table = make_table_cost_model(directory / "fused.h5");
  EXPECT_TRUE(table->fuses());
  EXPECT_EQ(running_cost(*table, chain()).runtime, Picoseconds::from_seconds(8e-6));
  EXPECT_EQ(graph_cost(*table, chain()).runtime, Picoseconds::from_seconds(11e-6));
  EXPECT_EQ(table->counters().estimates, 0);
}

/// Measured before there were fused operators: its figures stay.
TEST(FusedCosts, TheTableOfTheExperimentsAddsUpOperators) {
  const auto table = make_table_cost_model(REVERIE_SOURCE_DIR "/experiments/search/h200.h5");
  EXPECT_FALSE(table->fuses());
  EXPECT_EQ(running_cost(*table, chain()), graph_cost(*table, chain()));
}

TEST(FusedCosts, ASummaryShowsWhatRuns) {
  const auto model = make_measured_cost_model(on_device());
  const GraphSummary summary = summarize(chain(), *model);
  EXPECT_EQ(summary.nodes, 4);
  EXPECT_EQ(summary.cost, running_cost(*model, chain()));
  std::vector<std::string> names;
  for (const OperatorTotal& total : summary.operators) names.push_back(total.name);
  EXPECT_THAT(names, ElementsAre("Softmax", "Pointwise"));
}

}  // namespace
}  // namespace reverie
