#include "env/placement/report/charts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "core/report/svg.h"
#include "tests/env/placement/timelines.h"
#include "tests/support/markup.h"

namespace reverie {
namespace {

using testing::count;
using ::testing::HasSubstr;
using testing::long_placed;
using testing::markup_fault;
using ::testing::Not;
using testing::Placed;
using testing::random_placed;

constexpr const char* kSent = "fill='#707070'";  // what is drawn of transfers
constexpr double kPlot = 820;                    // pixels of the time axis

std::string gantt(const Placed& placed, int64_t bound = 0) {
  return gantt_chart(placed.graph, placed.topology, placed.timeline, {bound}).svg;
}
std::string memory(const Placed& placed) {
  return memory_chart(placed.graph, placed.topology, placed.timeline).svg;
}

/// The number that an attribute holds.
double number(const std::string& line, const std::string& name, double otherwise = 0) {
  const size_t at = line.find(" " + name + "='");
  return at == std::string::npos ? otherwise : std::stod(line.substr(at + name.size() + 3));
}

struct Drawn {
  double pixels = 0;  ///< width times opacity
  int runs = 0, rectangles = 0;
};

/// What a chart shows of runs.
Drawn drawn_runs(const std::string& chart) {
  Drawn drawn;
  std::istringstream lines(chart);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("<rect") || line.find(kSent) != std::string::npos) continue;
    drawn.pixels += number(line, "width") * number(line, "fill-opacity", 1);
    const std::string title = line.substr(line.find("<title>") + 7);
    drawn.runs += title.ends_with(" operators") ? std::stoi(title) : 1;
    ++drawn.rectangles;
  }
  return drawn;
}

TEST(GanttChartTest, WhatIsDrawnIsTheTimeThatIsBusy) {
  Rng rng(7);
  for (int trial = 0; trial < 30; ++trial) {
    const Placed placed = random_placed(80, rng);
    const Drawn drawn = drawn_runs(gantt(placed));
    const double end = static_cast<double>(end_of(placed.timeline).count);
    const double busy = static_cast<double>(placed.busy()) / end * kPlot;
    EXPECT_EQ(drawn.runs, 80);
    EXPECT_NEAR(drawn.pixels, busy, 0.002 * busy);
    EXPECT_EQ(end_of(placed.timeline), placed.outcome.makespan);
  }
}

TEST(GanttChartTest, EightyThousandRunsAreAFewThousandRectangles) {
  Placed placed = long_placed(4, 20000);
  for (Timeline::Run& run : placed.timeline.runs) {  // half of the time is idle
    run.end += run.start;
    run.start += run.start;
  }
  const std::string chart = gantt(placed);
  const Drawn drawn = drawn_runs(chart);
  EXPECT_EQ(drawn.runs, 80000);
  EXPECT_GE(drawn.rectangles, 1000);
  EXPECT_LE(drawn.rectangles, 4000);
  EXPECT_LE(chart.size(), 800000u);
  const double end = static_cast<double>(end_of(placed.timeline).count);
  EXPECT_NEAR(drawn.pixels / (static_cast<double>(placed.busy()) / end * kPlot), 1, 0.005);
}

TEST(GanttChartTest, RectanglesStandWhereRunsAre) {
  const std::string chart = gantt(testing::awkward_placed());
  EXPECT_THAT(chart, HasSubstr("<rect x='120.00' y='48.0' width='328.00' height='22' "));
  EXPECT_THAT(chart, HasSubstr("<rect x='448.00' y='92.0' width='492.00' height='22' "));
}

TEST(GanttChartTest, RunsOfNoTimeHaveAPlaceButNoColour) {
  const Placed placed({"g", {"d"}, {{"a", "op"}, {"b", "op"}}, {{0}, {0}}, {}},
                      ideal_devices(2, "d"), {{0, 1}, {}});
  const Drawn drawn = drawn_runs(gantt(placed));
  EXPECT_EQ(drawn.runs, 2);
  EXPECT_EQ(drawn.pixels, 0);
}

TEST(GanttChartTest, NamesAreEscapedAndChartsAreWellFormed) {
  const Placed placed = testing::awkward_placed();
  for (const std::string& chart : {gantt(placed, 4'000'000), memory(placed)}) {
    EXPECT_EQ(markup_fault(chart), "");
    EXPECT_EQ(markup_fault(svg_file(chart)), "");
    EXPECT_THAT(chart, HasSubstr("grapha&lt;b&gt;&amp;&quot;c&quot;"));
  }
  EXPECT_THAT(gantt(placed), HasSubstr("<title>a&lt;b&gt;&amp;&quot;c&quot;\\d'e f g (op"));
  Rng rng(8);
  const Placed random = random_placed(50, rng);
  EXPECT_EQ(markup_fault(gantt(random, 20)), "");
  EXPECT_EQ(markup_fault(memory(random)), "");
}

TEST(GanttChartTest, SaysWhatItShows) {
  const Placed placed = testing::awkward_placed();
  const std::string chart = gantt(placed, 8'000'000);
  EXPECT_THAT(chart, HasSubstr(": makespan 10 µs, lower bound 8 µs</text>"));
  EXPECT_THAT(chart, HasSubstr("\n4 to 10 µs</title>"));
  EXPECT_THAT(chart, HasSubstr(">time, µs<"));
  for (const char* tick : {">0<", ">2<", ">4<", ">6<", ">8<", ">10<"})
    EXPECT_THAT(chart, HasSubstr(tick));
  EXPECT_EQ(count(chart, ">lower bound<"), 1);
  EXPECT_EQ(count(gantt(placed, 0), ">lower bound<"), 0) << "there is none";
}

TEST(GanttChartTest, DevicesThatSendHaveALaneForIt) {
  const Placed placed = testing::awkward_placed();
  EXPECT_EQ(count(gantt(placed), ">sends<"), 1) << "the second device sends nothing";
  EXPECT_THAT(gantt(placed), HasSubstr(": 1.5 KiB\n"));
  const Placed alone(testing::graph_of({3, 4}, {}), ideal_devices(1, "d"), {{0, 0}, {}});
  EXPECT_EQ(count(gantt(alone), ">sends<"), 0);
  EXPECT_THAT(gantt(alone), Not(HasSubstr("transfers")));
}

TEST(GanttChartTest, SevenTypesHaveColours) {
  const Placed placed = long_placed(1, 22);
  const std::string chart = gantt(placed);
  EXPECT_EQ(count(chart, "<path "), 8);
  EXPECT_EQ(count(chart, ">other operators, "), 1);
}

TEST(ChartsTest, WithoutARunThereIsNoChart) {
  const CostGraph graph = testing::graph_of({1}, {});
  EXPECT_EQ(gantt_chart(graph, ideal_devices(1, "d"), {}, {}).svg, "");
  EXPECT_EQ(memory_chart(graph, ideal_devices(1, "d"), {}).svg, "");
}

TEST(MemoryCurveTest, KeepsThePeakTheEndAndFewSteps) {
  Rng rng(9);
  for (int trial = 0; trial < 40; ++trial) {
    const Placed placed = random_placed(60, rng);
    for (const int64_t interval : {0, 1, 7, 50, 100000}) {
      int64_t peak = 0;
      for (int device = 0; device < placed.topology.size(); ++device) {
        const auto curve = memory_curve(placed.timeline, device, {interval});
        int64_t last = 0;
        for (const auto& step : placed.timeline.memory)
          if (step.device == device) last = step.bytes;
        EXPECT_EQ(curve.front().time, Picoseconds{0});
        EXPECT_EQ(curve.back().bytes, last);
        EXPECT_TRUE(std::ranges::is_sorted(curve, {}, &Timeline::MemoryStep::time));
        for (const auto& step : curve) peak = std::max(peak, step.bytes);
        EXPECT_LE(curve.size(), interval == 100000 ? 4 : placed.timeline.memory.size() + 1);
      }
      EXPECT_EQ(peak, placed.outcome.peak_bytes);
    }
  }
}

/// A node that holds 8 GiB, on devices of these limits.
std::string memory_with(const std::vector<int64_t>& limits) {
  Topology topology = ideal_devices(static_cast<int>(limits.size()), "d");
  for (size_t i = 0; i < limits.size(); ++i) topology.devices[i].memory_bytes = limits[i];
  const Placed placed({"g", {"d"}, {{"a", "op", int64_t{8} << 30}}, {{5}}, {}}, topology,
                      {{0}, {}});
  return memory(placed);
}

TEST(MemoryChartTest, LimitsAreDashedLines) {
  constexpr int64_t kGibibyte = int64_t{1} << 30;
  const std::string none = memory_with({Device::kUnlimited, Device::kUnlimited});
  EXPECT_THAT(none, Not(HasSubstr("limit")));
  EXPECT_THAT(none, HasSubstr("memory, GiB"));
  EXPECT_EQ(count(none, "<polyline"), 2);
  EXPECT_THAT(none, Not(HasSubstr("stroke-dasharray='9 4'")));

  const std::string both = memory_with({16 * kGibibyte, 16 * kGibibyte});
  EXPECT_THAT(both, HasSubstr(">limit of 2 devices: 16 GiB<"));
  EXPECT_EQ(count(both, "<polyline"), 3);
  EXPECT_EQ(count(both, "stroke-dasharray='9 4'"), 2) << "the line and its legend";

  const std::string far = memory_with({Device::kUnlimited, 80 * kGibibyte});
  EXPECT_THAT(far, HasSubstr("limit of d1: 80 GiB (above)<"));
  EXPECT_THAT(far, HasSubstr("<polyline points='' "));
}

TEST(MemoryChartTest, ManyStepsBecomeFewPoints) {
  std::vector<CostNode> nodes(20000, {"n", "op", 0, 1000});
  const Placed placed({"g", {"d"}, nodes, std::vector<Picoseconds>(20000, {3}), {}},
                      ideal_devices(1, "d"), {std::vector<int>(20000, 0), {}});
  EXPECT_LE(memory(placed).size(), 100000u);
}

}  // namespace
}  // namespace reverie
