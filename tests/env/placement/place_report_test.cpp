#include "env/placement/report/place_report.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/env/placement/timelines.h"
#include "tests/support/markup.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::count;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Placed;
using ::testing::UnorderedElementsAre;

/// Two methods, of which the second, with this outcome, won.
PlaceResult result_of(const Placed& placed, Outcome outcome, int64_t bound) {
  PlaceResult result;
  result.methods = {{"first <m>", {{20'000'000}, 4096, 0}, 0.25, 12},
                    {"second", outcome, 1.5, 345}};
  result.winner = 1;
  result.placement = placed.placement;
  result.timeline = placed.timeline;
  result.bound = {bound};
  return result;
}

std::string page_of(Outcome outcome, int64_t bound) {
  const Placed placed = testing::awkward_placed();
  return place_report_html(placed.graph, placed.topology, result_of(placed, outcome, bound));
}

TEST(PlaceReportTest, DevicesAreThoseOfTheModelsNodes) {
  Rng rng(1);
  const Placed placed = testing::random_placed(12, rng);
  PlaceResult result = result_of(placed, placed.outcome, 1);
  const CostNode& first = placed.graph.nodes()[0];
  result.folded = {{"view", "Reshape", first.name}, {"unread", "Reshape", ""}};
  const auto devices = devices_of(placed.graph, placed.topology, result);
  EXPECT_EQ(devices.size(), static_cast<size_t>(placed.graph.size()) + 1);
  for (const Timeline::Run& run : placed.timeline.runs)
    EXPECT_EQ(devices.at(placed.graph.nodes()[static_cast<size_t>(run.node)].name),
              placed.topology.devices[static_cast<size_t>(run.device)].name);
  EXPECT_EQ(devices.at("view"), devices.at(first.name));
}

TEST(PlaceReportTest, ThePageIsWellFormedAndHoldsEverything) {
  const std::string page = page_of({{10'000'000}, 1536, 0}, 8'000'000);
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_EQ(count(page, "<svg "), 2);
  EXPECT_EQ(count(page, "href"), count(page, "href='data:text/csv")) << "it needs no other file";
  EXPECT_THAT(page,
              HasSubstr("<tr><td>first &lt;m&gt;</td><td>20 µs</td><td>2.500</td><td>4 KiB</td>"
                        "<td>12</td><td>0.25</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr class='marked'><td>second</td><td>10 µs</td><td>1.250</td>"
                              "<td>1.5 KiB</td><td>345</td><td>1.50</td></tr>"));
}

TEST(PlaceReportTest, SaysWhatWonAndHowFarItIsAboveTheBound) {
  EXPECT_THAT(page_of({{10'000'000}, 1536, 0}, 8'000'000),
              HasSubstr("second found the best placement: its makespan is 10 µs. That is 25.00 % "
                        "above the lower bound of 8 µs, which no placement can beat."));
  EXPECT_THAT(page_of({{10'000'000}, 1536, 0}, 10'000'000), HasSubstr("It is optimal"));
  const std::string over = page_of({{10'000'000}, 1536, 512}, 8'000'000);
  EXPECT_THAT(over, HasSubstr("No method found a placement that fits into memory. That of second "
                              "lacks the fewest bytes: 512 B."));
  EXPECT_THAT(over, HasSubstr("<td>1.5 KiB, 512 B over</td>"));
}

TEST(PlaceReportTest, WritesSixFiles) {
  const TemporaryDirectory directory;
  const std::string folder = directory / "new/folder";
  const Placed placed = testing::awkward_placed();
  const PlaceResult result = result_of(placed, placed.outcome, 8'000'000);
  write_place_outputs(folder, placed.graph, placed.topology, result);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, UnorderedElementsAre("placement.json", "gantt.svg", "memory.svg", "trace.json",
                                          "graph.dot", "report.html"));
  for (const char* chart : {"/gantt.svg", "/memory.svg", "/report.html"})
    EXPECT_EQ(testing::markup_fault(read_file(folder + chart)), "") << chart;
  EXPECT_EQ(Json::parse(read_file(folder + "/placement.json")),
            placement_json(placed.graph, placed.topology, result));
  EXPECT_TRUE(Json::parse(read_file(folder + "/trace.json")).is_object());
}

TEST(PlaceReportTest, AFolderThatCannotBeIsAnInputError) {
  const TemporaryDirectory directory;
  write_file(directory / "file", "");
  const Placed placed = testing::awkward_placed();
  EXPECT_THROW(write_place_outputs(directory / "file", placed.graph, placed.topology,
                                   result_of(placed, placed.outcome, 1)),
               InputError);
}

}  // namespace
}  // namespace reverie
