#include <gmock/gmock.h>

#include <algorithm>

#include "core/models/models.h"
#include "env/placement/machine/model_on_cores.h"
#include "env/placement/machine/undisturbed.h"
#include "env/placement/placement_solver.h"
#include "env/placement/search/place.h"
#include "tests/env/placement/expect_refused.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using testing::expect_refused;

CostGraph two_tasks() { return testing::graph_of({10, 10}, {}); }

/// The second device takes ten times as long as the simulator thinks.
Picoseconds slow_second(const Timeline& timeline) {
  Picoseconds end;
  for (const Timeline::Run& run : timeline.runs)
    end = std::max(end, Picoseconds{run.device == 1 ? 10 * run.end.count : run.end.count});
  return end;
}

TEST(Evaluator, KeepsWhatIsBestByRuns) {
  const CostGraph graph = two_tasks();
  const Topology topology = ideal_devices(2, "d");
  for (const bool is_measured : {false, true}) {
    Evaluator evaluator(graph, topology, PlacementObjective::kMakespan, {.evaluations = 2});
    if (is_measured) evaluator.measure_by(slow_second);
    evaluator.evaluate({{0, 1}, {1, 0}});
    EXPECT_EQ(evaluator.best_outcome().makespan.count, is_measured ? 100 : 10);
    evaluator.evaluate({{0, 0}, {1, 0}});
    EXPECT_EQ(evaluator.best_outcome().makespan.count, is_measured ? 20 : 10);
    EXPECT_EQ(evaluator.best().device, (std::vector<int>{0, is_measured ? 0 : 1}));
  }
}

TEST(Place, ByRunsTellsWhatWasMeasuredAnewAndBelievesNoBound) {
  const CostGraph graph = testing::graph_of({200, 200}, {});
  const Topology topology = ideal_devices(2, "d");
  const std::vector<PlaceMethod> methods{place_method(place_methods(), "random")};
  int runs = 0;
  const MeasureSchedule shorter_each_time = [&](const Timeline&) {
    return Picoseconds{100 - runs++};
  };
  const PlaceResult result =
      place(graph, topology, methods, {.budget = {.evaluations = 4}, .measure = shorter_each_time});
  EXPECT_TRUE(result.measured);
  EXPECT_EQ(runs, 13) << "also below the bound";
  EXPECT_EQ(result.methods[0].evaluations, 4);
  EXPECT_EQ(result.methods[0].outcome.makespan.count, 100 - 8);
}

TEST(Local, BeginsByTheSimulatorWhereRunsJudge) {
  const CostGraph graph = testing::graph_of({10, 20, 30, 40, 50}, {});
  const Topology topology = ideal_devices(2, "d");
  Evaluator evaluator(graph, topology, PlacementObjective::kMakespan, {.evaluations = 1});
  int64_t simulated = 0;
  evaluator.measure_by([&](const Timeline& timeline) {
    for (const Timeline::Run& run : timeline.runs) simulated = std::max(simulated, run.end.count);
    return Picoseconds{1000};
  });
  place_method(place_methods(), "local").run(evaluator, 1);
  EXPECT_EQ(simulated, 80) << "50 and 30, and the others, are the best";
  EXPECT_EQ(evaluator.evaluations(), 1);
  EXPECT_EQ(evaluator.best_outcome().makespan.count, 1000);
}

TEST(Place, ByRunsRefusesWhatIsTiedToTheSimulator) {
  const CostGraph graph = two_tasks();
  const std::vector<PlaceMethod> methods{place_method(place_methods(), "exact")};
  expect_refused(
      [&] { place(graph, ideal_devices(2, "d"), methods, {.budget = {}, .measure = slow_second}); },
      "exact");
}

TEST(UndisturbedMakespan, IsTheMedianOfRunsThatLostLittle) {
  EXPECT_EQ(undisturbed_makespan({{9, 0.5}, {1, 0}, {3, 0.02}, {2, 0.001}, {5, 0.2}}).count,
            Picoseconds::from_seconds(2).count);
  EXPECT_EQ(undisturbed_makespan({{9, 0.5}, {4, 0.1}, {1, 0.9}}).count,
            Picoseconds::from_seconds(4).count)
      << "none: the one that lost least";
}

TEST(MeasuredMakespan, RunsTheModel) {
  const Graph model = build_model("nasrnn", {.layers = 1, .hidden = 8});
  CoreThreads threads(1);
  const auto on_cores = model_on_cores(model, "m", drawn_inputs(model, 1), threads);
  const std::vector<std::vector<int>> order{on_cores->graph().order()};
  EXPECT_GT(measured_makespan(*on_cores, order), Picoseconds{});
  EXPECT_FALSE(on_cores->outputs().empty());
}

}  // namespace
}  // namespace reverie
