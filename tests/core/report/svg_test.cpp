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
  const std::string chart =
      line_chart("<t>", {"<x>", "<y>"}, {{"<s>", {{0, 1}, {1, 2}}, false}}).svg;
  for (const char* name : {"t", "x", "y", "s"}) {
    EXPECT_THAT(chart, HasSubstr(std::string("&lt;") + name + "&gt;"));
    EXPECT_THAT(chart, Not(HasSubstr(std::string("<") + name + ">")));
  }
  EXPECT_THAT(bar_chart("t", "ms", {{"<b>", 1, 1, 1}}).svg, Not(HasSubstr("<b>")));
  EXPECT_THAT(heat_map("t", {"<r>"}, {"<c>"}, {{1}}).svg, Not(HasSubstr("<r>")));
}

TEST(SvgTest, NothingToDrawIsNoChart) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(line_chart("t", {"x", "y"}, {}).svg, "");
  EXPECT_EQ(line_chart("t", {"x", "y"}, {{"s", {{1, none}}, false}}).svg, "");
  EXPECT_EQ(bar_chart("t", "ms", {}).svg, "");
  EXPECT_EQ(heat_map("t", {}, {"c"}, {}).svg, "");
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
    const auto points =
        drawn(line_chart("t", axes, {{"s", {{0, 5}, {1, none}, {2, -3}, {4, 9}}, false}}).svg);
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
  const std::string chart = line_chart("t", {"x", "y"}, {line}).svg;
  EXPECT_EQ(count(chart, "<polygon"), 1);
  const auto points = drawn(chart);
  ASSERT_EQ(points.size(), 6u);  // the band's there and back, then the line's
  EXPECT_EQ(points[1].first, points[2].first);
  EXPECT_LT(points[1].second, points[2].second);
  for (const auto& [x, y] : points) {
    EXPECT_GE(y, 34);
    EXPECT_LE(y, 276);
  }
  EXPECT_EQ(count(line_chart("t", {"x", "y"}, {{"s", {{0, 5}, {4, 6}}}}).svg, "<polygon"), 0);
}

TEST(SvgTest, AFileOfItsOwnHasItsStyle) {
  const std::string file = svg_file(line_chart("t", {"x", "y"}, {{"s", {{0, 5}, {4, 6}}}}).svg);
  EXPECT_TRUE(file.starts_with("<svg "));
  EXPECT_THAT(file, HasSubstr("><style>"));
  EXPECT_THAT(file, HasSubstr(kChartStyle));
}

TEST(SvgTest, StepsHoldTheirValue) {
  const auto points = drawn(line_chart("t", {"x", "y"}, {{"s", {{0, 1}, {2, 3}}, true}}).svg);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[1], std::make_pair(points[2].first, points[0].second));
}

TEST(SvgTest, OnALogarithmicAxisEqualFactorsAreEqualDistances) {
  const ChartAxes axes{.x_label = "x", .y_label = "y", .from_zero = true, .log_y = true};
  const std::string chart =
      line_chart("t", axes, {{"s", {{0, 1}, {1, 10}, {2, 100}, {3, -5}}}}).svg;
  const auto points = drawn(chart);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_NEAR(points[0].second - points[1].second, points[1].second - points[2].second, 0.2);
  EXPECT_NEAR(points[3].second, 276, 0.1) << "what no logarithm has stands at the lower edge";
  for (const char* tick : {">1<", ">10<", ">100<"}) EXPECT_THAT(chart, HasSubstr(tick));
  EXPECT_THAT(line_chart("t", axes, {{"s", {{0, 31}, {1, 49}}}}).svg, HasSubstr(">40<"))
      << "1, 2 and 5 are too few";
  EXPECT_EQ(line_chart("t", axes, {{"s", {{0, 0}, {1, -1}}}}).svg, "");
  EXPECT_EQ(drawn(line_chart("t", axes, {{"s", {{0, 7}, {1, 7}}}}).svg).size(), 2u);
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
  const std::vector<std::string> many = looks(line_chart("t", {"x", "y"}, lines).svg);
  EXPECT_EQ(std::set(many.begin(), many.end()).size(), 20u);
  lines.resize(2);
  lines[1].color = lines[1].dash = 0;
  const std::vector<std::string> same = looks(line_chart("t", {"x", "y"}, lines).svg);
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[0], same[1]);
}

TEST(SvgTest, LongNamesHaveWiderColumns) {
  const auto last_entry = [](size_t length) {
    const Series line{std::string(length, 'n'), {{0, 1}, {1, 2}}};
    const std::string chart = line_chart("t", {"x", "y"}, {line, line, line, line}).svg;
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
  const std::string with = bar_chart("t", "ms", {{"one", 2, 1.5, 2.5}}).svg;
  const std::string without = bar_chart("t", "ms", {{"one", 2.5, 2.5, 2.5}}).svg;
  EXPECT_THAT(with, HasSubstr("2 ms"));
  EXPECT_EQ(count(with, "<line") - count(without, "<line"), 3);
}

/// The x of both ends of every bar, and its colour.
struct DrawnBar {
  double left, right;
  std::string color;
};
std::vector<DrawnBar> drawn_bars(const std::string& chart) {
  std::vector<DrawnBar> bars;
  const std::regex bar(
      "<rect x='([0-9.]+)' y='[0-9.]+' width='([0-9.]+)' height='16' fill='([^']*)'");
  for (std::sregex_iterator b(chart.begin(), chart.end(), bar), end; b != end; ++b)
    bars.push_back({std::stod((*b)[1]), std::stod((*b)[1]) + std::stod((*b)[2]), (*b)[3]});
  return bars;
}

TEST(SvgTest, LossesGoTheOtherWayInAnotherColourWithASign) {
  const std::string chart =
      gain_chart("t", {{"up", 20, 19, 21}, {"down", -18.3, -30, -9}, {"none", 0, 0, 0}}).svg;
  const std::vector<DrawnBar> bars = drawn_bars(chart);
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_NEAR(bars[0].left, bars[1].right, 0.2) << "both from 0";
  EXPECT_NEAR(bars[0].right - bars[0].left, (bars[1].right - bars[1].left) * 20 / 18.3, 0.5);
  EXPECT_NE(bars[0].color, bars[1].color);
  for (const char* value : {">+20 %<", ">\u221218.3 %<", ">0 %<"})
    EXPECT_THAT(chart, HasSubstr(value));
  for (const DrawnBar& bar : bars) {
    EXPECT_GE(bar.left, 150) << "names stand there";
    EXPECT_LE(bar.right, 640);
  }
}

TEST(SvgTest, BarsOfLossesAloneEndAtZero) {
  const std::vector<DrawnBar> bars =
      drawn_bars(gain_chart("t", {{"a", -1, -1, -1}, {"b", -4, -5, -3}}).svg);
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_DOUBLE_EQ(bars[0].right, bars[1].right);
  EXPECT_GT(bars[0].left, bars[1].left);
}

TEST(SvgTest, AnIntervalMuchLongerThanTheBarsIsCutOff) {
  const std::string chart = gain_chart("t", {{"a", -20, -4000, 90}, {"b", 10, 5, 15}}).svg;
  const std::vector<DrawnBar> bars = drawn_bars(chart);
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_GT(bars[0].right - bars[0].left, 50) << "the bar can be seen";
  const auto marks = [](const std::string& svg) {  // lines of intervals, and that at 0 and below
    return count(svg, "class='axis'") - 2;
  };
  EXPECT_EQ(marks(chart), 1 + 3) << "no end of the long one is marked";
  EXPECT_EQ(marks(gain_chart("t", {{"a", -20, -30, 9}, {"b", 10, 5, 15}}).svg), 3 + 3);
}

TEST(SvgTest, ALineThatIsFlatForLongBeginsWhereItChanges) {
  const std::vector<Series> late = {{"a", {{1, 5}, {90, 5}, {95, 3}, {100, 2}}, false},
                                    {"b", {{1, 5}, {92, 4}, {100, 4}}, true}};
  for (const bool logarithmic : {false, true}) {
    const auto at = [&](bool skip) {
      return drawn(
          line_chart("t", {.x_label = "s", .y_label = "y", .log_x = logarithmic, .skip_flat = skip},
                     late)
              .svg);
    };
    const auto share = [](double x) { return (x - 64) / (640 - 64 - 16); };
    EXPECT_NEAR(share(at(true)[1].first), 0.1, 0.01) << "a changes from 90 on";
    EXPECT_EQ(at(true)[0].first, 64) << "what was before is still seen";
    EXPECT_GT(share(at(false)[1].first), logarithmic ? -1 : 0.8);
  }
  EXPECT_THAT(line_chart("t", {.x_label = "s", .y_label = "y", .skip_flat = true}, late).svg,
              HasSubstr(">s; flat before 88.9<"));
}

TEST(SvgTest, ALineThatChangesEarlyOrNeverIsDrawnWhole) {
  for (const std::vector<std::pair<double, double>>& points :
       {std::vector<std::pair<double, double>>{{0, 5}, {5, 4}, {100, 4}}, {{0, 5}, {100, 5}}}) {
    const std::vector<Series> series = {{"a", points, true}};
    EXPECT_EQ(line_chart("t", {.x_label = "s", .y_label = "y", .skip_flat = true}, series).svg,
              line_chart("t", {.x_label = "s", .y_label = "y"}, series).svg);
  }
}

TEST(SvgTest, AHeatMapWritesCountsAboveZero) {
  const std::string map = heat_map("t", {"a", "b"}, {"c", "d"}, {{7, 0}, {0, 3}}).svg;
  EXPECT_THAT(map, HasSubstr(">7<"));
  EXPECT_THAT(map, HasSubstr(">3<"));
  EXPECT_THAT(map, Not(HasSubstr(">0<")));
  EXPECT_EQ(count(map, "<rect"), 4);
}

TEST(SvgTest, AChartHasItsNumbers) {
  Series one{"one, two", {{0, 1.5}, {2, -3}}, false};
  EXPECT_EQ(line_chart("t", {"time, s", "y"}, {one, {"\"b\"", {{1, 4}}}}).csv,
            "series,\"time, s\",y\r\n\"one, two\",0,1.5\r\n\"one, two\",2,-3\r\n"
            "\"\"\"b\"\"\",1,4\r\n");
  one.name = "a";
  one.band = {{0, 1, 2}, {2, -4, -2}};
  EXPECT_EQ(line_chart("t", {"x", "y"}, {one, {"b", {{1, 4}}}}).csv,
            "series,x,y,low,high\r\na,0,1.5,1,2\r\na,2,-3,-4,-2\r\nb,1,4,,\r\n");
  EXPECT_EQ(gain_chart("t", {{"up", 20, 19, 21}}).csv, "name,%,low,high\r\nup,20,19,21\r\n");
  EXPECT_EQ(heat_map("t", {"r"}, {"a", "b"}, {{1, 2}}).csv, ",a,b\r\nr,1,2\r\n");
  EXPECT_EQ(line_chart("t", {"x", "y"}, {}).csv, "");
}

TEST(SvgTest, NumbersAreWholeWhereTheDrawingIsCut) {
  const ChartAxes axes{.x_label = "x", .y_label = "y", .skip_flat = true};
  const Series late{"s", {{0, 1}, {90, 1}, {91, 5}, {100, 5}}};
  EXPECT_EQ(line_chart("t", axes, {late}).csv,
            "series,x,y\r\ns,0,1\r\ns,90,1\r\ns,91,5\r\ns,100,5\r\n");
}

}  // namespace
}  // namespace reverie
