#include "core/report/svg.h"

#include <gmock/gmock.h>

#include <limits>
#include <regex>
#include <set>

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(SvgTest, TicksAreRound) {
  EXPECT_THAT(round_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(round_ticks(-0.4, 0.9, 3), ElementsAre(0, 0.5));
  EXPECT_THAT(round_ticks(3, 3, 5), ElementsAre(3));
  EXPECT_THAT(log_ticks(0.9, 6), ElementsAre(1, 2, 5));
  EXPECT_THAT(log_ticks(1, 20000), ElementsAre(1, 10, 100, 1000, 10000));
}

TEST(SvgTest, EscapesWhatPeopleNamed) {
  EXPECT_EQ(escape_html("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
  const std::string chart = line_chart("<t>", {"<x>", "<y>"}, {{"<s>", {{0, 1}, {1, 2}}, false}});
  for (const char* name : {"t", "x", "y", "s"}) {
    EXPECT_THAT(chart, HasSubstr(std::string("&lt;") + name + "&gt;"));
    EXPECT_THAT(chart, Not(HasSubstr(std::string("<") + name + ">")));
  }
  EXPECT_THAT(bar_chart("t", "ms", {{"<b>", 1, 1, 1}}), Not(HasSubstr("<b>")));
  EXPECT_THAT(heat_map("t", {"<r>"}, {"<c>"}, {{1}}), Not(HasSubstr("<r>")));
}

TEST(SvgTest, NothingToDrawIsNoChart) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(line_chart("t", {"x", "y"}, {}), "");
  EXPECT_EQ(line_chart("t", {"x", "y"}, {{"s", {{1, none}}, false}}), "");
  EXPECT_EQ(bar_chart("t", "ms", {}), "");
  EXPECT_EQ(heat_map("t", {}, {"c"}, {}), "");
}

/// Every point of every line.
std::vector<std::pair<double, double>> drawn(const std::string& chart) {
  std::vector<std::pair<double, double>> points;
  const std::regex line("points='([^']*)'"), point("(-?[0-9.]+),(-?[0-9.]+)");
  for (std::sregex_iterator l(chart.begin(), chart.end(), line), end; l != end; ++l) {
    const std::string text = (*l)[1];
    for (std::sregex_iterator p(text.begin(), text.end(), point); p != end; ++p)
      points.emplace_back(std::stod((*p)[1]), std::stod((*p)[2]));
  }
  return points;
}

TEST(SvgTest, LinesLieWithinTheFrameAndLargerIsHigher) {
  const double none = std::numeric_limits<double>::infinity();
  for (const bool logarithmic : {false, true}) {
    const ChartAxes axes{"x", "y", logarithmic, false};
    const auto points = drawn(line_chart("t", axes, {{"s", {{0, 5}, {1, none}, {2, -3}, {4, 9}}, false}}));
    ASSERT_EQ(points.size(), 3u);
    for (const auto& [x, y] : points) {
      EXPECT_GE(x, 0);
      EXPECT_LE(x, 640);
      EXPECT_GE(y, 0);
      EXPECT_LE(y, 320);
    }
    EXPECT_LT(points[2].second, points[0].second);
    EXPECT_LT(points[0].second, points[1].second);
    EXPECT_LE(points[0].first, points[1].first);
    EXPECT_LT(points[1].first, points[2].first);
  }
}

TEST(SvgTest, ABandIsShadedAndFitsIntoTheFrame) {
  const Series line{"s", {{0, 5}, {4, 6}}, false, {{0, 4, 6}, {4, -90, 90}}};
  const std::string chart = line_chart("t", {"x", "y"}, {line});
  EXPECT_EQ(count(chart, "<polygon"), 1);
  const auto points = drawn(chart);
  ASSERT_EQ(points.size(), 6u);  // the band's there and back, then the line's
  EXPECT_EQ(points[1].first, points[2].first);
  EXPECT_LT(points[1].second, points[2].second);
  for (const auto& [x, y] : points) {
    EXPECT_GE(y, 34);
    EXPECT_LE(y, 276);
  }
  EXPECT_EQ(count(line_chart("t", {"x", "y"}, {{"s", {{0, 5}, {4, 6}}}}), "<polygon"), 0);
}

TEST(SvgTest, AFileOfItsOwnHasItsStyle) {
  const std::string file = svg_file(line_chart("t", {"x", "y"}, {{"s", {{0, 5}, {4, 6}}}}));
  EXPECT_TRUE(file.starts_with("<svg "));
  EXPECT_THAT(file, HasSubstr("><style>"));
  EXPECT_THAT(file, HasSubstr(kChartStyle));
}

TEST(SvgTest, StepsHoldTheirValue) {
  const auto points = drawn(line_chart("t", {"x", "y"}, {{"s", {{0, 1}, {2, 3}}, true}}));
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[1], std::make_pair(points[2].first, points[0].second));
}

TEST(SvgTest, OnALogarithmicAxisEqualFactorsAreEqualDistances) {
  const ChartAxes axes{.x_label = "x", .y_label = "y", .from_zero = true, .log_y = true};
  const std::string chart = line_chart("t", axes, {{"s", {{0, 1}, {1, 10}, {2, 100}, {3, -5}}}});
  const auto points = drawn(chart);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_NEAR(points[0].second - points[1].second, points[1].second - points[2].second, 0.2);
  EXPECT_NEAR(points[3].second, 276, 0.1) << "what no logarithm has stands at the lower edge";
  for (const char* tick : {">1<", ">10<", ">100<"}) EXPECT_THAT(chart, HasSubstr(tick));
  EXPECT_THAT(line_chart("t", axes, {{"s", {{0, 31}, {1, 49}}}}), HasSubstr(">40<")) << "1, 2 and 5 are too few";
  EXPECT_EQ(line_chart("t", axes, {{"s", {{0, 0}, {1, -1}}}}), "");
  EXPECT_EQ(drawn(line_chart("t", axes, {{"s", {{0, 7}, {1, 7}}}})).size(), 2u);
}

/// Stroke and dash pattern of every line of the legend.
std::vector<std::string> looks(const std::string& chart) {
  std::vector<std::string> found;
  const std::regex look("stroke='(#[0-9a-f]*)' stroke-width='2.5' (stroke-dasharray='[^']*')");
  for (std::sregex_iterator l(chart.begin(), chart.end(), look), end; l != end; ++l)
    found.push_back(l->str(1) + " " + l->str(2));
  return found;
}

TEST(SvgTest, LinesLookDifferentUnlessTheySayHow) {
  std::vector<Series> lines;
  for (int i = 0; i < 20; ++i) lines.push_back({"s", {{0, 1}, {1, 2}}});
  const std::vector<std::string> many = looks(line_chart("t", {"x", "y"}, lines));
  EXPECT_EQ(std::set(many.begin(), many.end()).size(), 20u);
  lines.resize(2);
  lines[1].color = lines[1].dash = 0;
  const std::vector<std::string> same = looks(line_chart("t", {"x", "y"}, lines));
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[0], same[1]);
}

TEST(SvgTest, LongNamesHaveWiderColumns) {
  const auto last_entry = [](size_t length) {
    const Series line{std::string(length, 'n'), {{0, 1}, {1, 2}}};
    const std::string chart = line_chart("t", {"x", "y"}, {line, line, line, line});
    std::smatch at;
    const std::regex place("<text x='([0-9.]+)' y='([0-9.]+)' class='left'>n+</text>\n</svg>");
    EXPECT_TRUE(std::regex_search(chart, at, place));
    return std::pair(std::stod(at[1]), std::stod(at[2]));
  };
  EXPECT_EQ(last_entry(24), std::pair(96.0, 350.0)) << "three columns, the second row";
  EXPECT_EQ(last_entry(25), std::pair(388.5, 350.0)) << "two columns";
  EXPECT_EQ(last_entry(41), std::pair(96.0, 386.0)) << "one column";
}

TEST(SvgTest, BarsShowValuesUnitsAndIntervals) {
  const std::string with = bar_chart("t", "ms", {{"one", 2, 1.5, 2.5}});
  const std::string without = bar_chart("t", "ms", {{"one", 2.5, 2.5, 2.5}});
  EXPECT_THAT(with, HasSubstr("2 ms"));
  EXPECT_EQ(count(with, "<line") - count(without, "<line"), 3);
}

TEST(SvgTest, AHeatMapWritesCountsAboveZero) {
  const std::string map = heat_map("t", {"a", "b"}, {"c", "d"}, {{7, 0}, {0, 3}});
  EXPECT_THAT(map, HasSubstr(">7<"));
  EXPECT_THAT(map, HasSubstr(">3<"));
  EXPECT_THAT(map, Not(HasSubstr(">0<")));
  EXPECT_EQ(count(map, "<rect"), 4);
}

}  // namespace
}  // namespace reverie
