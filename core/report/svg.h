#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reverie {

/// An interval of y at x.
struct Band {
  double x = 0, low = 0, high = 0;
};

/// One line of a chart; points in order of x.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool steps = false;           ///< hold the value until the next point
  std::vector<Band> band = {};  ///< shaded behind the lines, in order of x; empty: none
  int color = -1, dash = -1;    ///< numbers of a colour and a pattern; -1: those of its place
};

struct ChartAxes {
  std::string x_label, y_label;  ///< with their units
  bool log_x = false;            ///< x at or below 0 stands at the smallest x above it
  bool from_zero = false;        ///< y begins at 0, unless it is logarithmic
  bool log_y = false;            ///< y at or below 0 stands at the lower edge
  /// x begins shortly before the first change of any line, and the label says so where that leaves
  /// something out.
  bool skip_flat = false;
};

/// What <svg> elements below look like, as CSS; a page that shows them must have it.
extern const char* const kChartStyle;
/// A chart as a file of its own.
std::string svg_file(const std::string& chart);

/// One of eight colours that people who see few colours can tell apart (Okabe and Ito 2008). Those
/// of higher numbers are the same ones again.
const char* chart_color(size_t number);
/// Parts of other charts: the beginning with the title, to be closed by "</svg>"; a text and a line
/// of a class of kChartStyle.
std::string open_svg(double width, double height, const std::string& title);
std::string svg_text(double x, double y, const std::string& what, const char* css);
std::string svg_line(double x1, double y1, double x2, double y2, const char* css);

/// An <svg> element, and its numbers as CSV (RFC 4180) with a line of heads; both are empty where
/// there is nothing to draw, the latter also where the numbers stand in a file of their own.
struct Chart {
  std::string svg, csv;
};

/// A line chart with axes, ticks and a legend. Values that are not finite are
/// left out. Nothing to draw when no series has a point (above 0 where an axis is logarithmic).
/// Each line has a dash pattern of its own unless it asks for one, so that equal ones show through
/// each other.
Chart line_chart(const std::string& title, const ChartAxes& axes,
                 const std::vector<Series>& series);

struct Bar {
  std::string name;
  double value = 0;
  double low = 0, high = 0;  ///< interval; equal to the value: none is drawn
};
/// Horizontal bars from 0 with their intervals, the first in grey; `unit` stands behind the values.
Chart bar_chart(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);
/// Gains in percent: to the right of 0 they are blue, losses go to the left and are red. Values
/// have a sign.
Chart gain_chart(const std::string& title, const std::vector<Bar>& bars);

/// Rows by columns of counts, shaded by their share of the largest. `cells` is [rows][columns].
Chart heat_map(const std::string& title, const std::vector<std::string>& rows,
               const std::vector<std::string>& columns,
               const std::vector<std::vector<double>>& cells);

/// & < > " as entities.
std::string escape_html(const std::string& text);

/// About `count` round numbers (1, 2 or 5 times a power of ten apart) that span [low, high].
std::vector<double> round_ticks(double low, double high, int count);
/// 1, 2 and 5 times the powers of ten within [low, high], or the powers alone over three decades;
/// 0 < low.
std::vector<double> log_ticks(double low, double high);

}  // namespace reverie
