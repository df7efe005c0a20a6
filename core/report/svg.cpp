#include "core/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace reverie {
namespace {

constexpr double kWidth = 640, kHeight = 320, kLeft = 64, kRight = 16, kTop = 34, kBottom = 44;
/// Okabe and Ito (2008): told apart by people who see few colours.
constexpr std::array<const char*, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000", "#8a7a00"};
constexpr std::array<const char*, 8> kDashes = {"none", "9 4", "3 3", "9 3 3 3",
                                                "14 5", "6 6", "2 5", "14 3 3 3"};

/// Of an axis.
struct Range {
  bool log = false;  ///< what is at or below 0 is left out
  double low = 1e300, high = -1e300;
  void add(double value) {
    if (log && value <= 0) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  void widen() {
    if (log ? high < low * (1 + 1e-12) : high - low < 1e-12)
      spread(log ? 1.05 : std::max(1e-6, std::abs(low) * 0.05));
  }
  /// Room between lines and frame.
  void pad() { spread(log ? std::pow(high / low, 0.04) : 0.04 * (high - low)); }
  /// Where between low (0) and high (1) a value stands.
  double share(double value) const {
    return log ? std::log(std::max(value, low) / low) / std::log(high / low)
               : (value - low) / (high - low);
  }
  std::vector<double> ticks(int count) const {
    const std::vector<double> powers = log ? log_ticks(low, high) : std::vector<double>();
    return powers.size() < 3 ? round_ticks(low, high, count) : powers;
  }

 private:
  void spread(double by) {
    low = log ? low / by : low - by;
    high = log ? high * by : high + by;
  }
};

bool finite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

/// The frame of a line chart: from data to pixels.
struct Frame {
  Range x, y;
  bool empty() const { return x.empty() || y.empty(); }
  double px(double value) const { return kLeft + x.share(value) * (kWidth - kLeft - kRight); }
  double py(double value) const {
    return kHeight - kBottom - y.share(value) * (kHeight - kTop - kBottom);
  }
};

/// Where a line leaves its first value; infinity where it never does.
double first_change(const Series& series) {
  const std::pair<double, double>* before = nullptr;
  for (const auto& point : series.points) {
    if (!finite(point)) continue;
    if (before != nullptr && point.second != before->second)
      return series.steps ? point.first : before->first;
    before = &point;
  }
  return std::numeric_limits<double>::infinity();
}

/// Leaves out what is before the first change but for a tenth of the width. Whether that is
/// anything.
bool skip_flat(Range& x, const std::vector<Series>& series) {
  constexpr double kLead = 0.1;
  double change = std::numeric_limits<double>::infinity();
  for (const Series& one : series) change = std::min(change, first_change(one));
  if (!(change > x.low) || !(change < x.high) || x.share(change) <= kLead) return false;
  const double part = kLead / (1 - kLead);
  x.low = x.log ? change * std::pow(change / x.high, part) : change - part * (x.high - change);
  return true;
}

/// The lines from the beginning of the axis on, before which they are flat.
std::vector<Series> cut_to(double begin, std::vector<Series> series) {
  for (Series& one : series)
    for (auto& point : one.points) point.first = std::max(point.first, begin);
  return series;
}

Frame frame_of(const ChartAxes& axes, const std::vector<Series>& series) {
  Frame frame{.x = {.log = axes.log_x}, .y = {.log = axes.log_y}};
  for (const Series& one : series) {
    for (const auto& point : one.points)
      if (finite(point)) {
        frame.x.add(point.first);
        frame.y.add(point.second);
      }
    for (const Band& at : one.band)
      for (const double y : {at.low, at.high})
        if (std::isfinite(y)) frame.y.add(y);
  }
  if (frame.empty()) return frame;
  if (axes.from_zero) frame.y.add(0);
  frame.x.widen();
  frame.y.widen();
  frame.y.pad();
  if (axes.from_zero) frame.y.low = std::max(frame.y.low, 0.0);
  return frame;
}

std::string draw_axes(const Frame& frame, const ChartAxes& axes) {
  std::string svg;
  for (const double tick : frame.y.ticks(5)) {
    svg += svg_line(kLeft, frame.py(tick), kWidth - kRight, frame.py(tick), "grid");
    svg += svg_text(kLeft - 6, frame.py(tick) + 4, fmt::format("{:.4g}", tick), "right");
  }
  for (const double tick : frame.x.ticks(7)) {
    svg +=
        svg_line(frame.px(tick), kHeight - kBottom, frame.px(tick), kHeight - kBottom + 4, "axis");
    svg += svg_text(frame.px(tick), kHeight - kBottom + 17, fmt::format("{:.4g}", tick), "middle");
  }
  svg += svg_line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "axis");
  svg += svg_line(kLeft, kTop, kLeft, kHeight - kBottom, "axis");
  svg += svg_text((kLeft + kWidth - kRight) / 2, kHeight - 8, axes.x_label, "middle");
  svg +=
      fmt::format("<text transform='translate(14,{:.1f}) rotate(-90)' class='middle'>{}</text>\n",
                  (kTop + kHeight - kBottom) / 2, escape_html(axes.y_label));
  return svg;
}

const char* color_of(const Series& series, size_t index) {
  return chart_color(series.color < 0 ? index : static_cast<size_t>(series.color));
}

/// Another one where colours come round again.
const char* dash_of(const Series& series, size_t index) {
  return kDashes[(series.dash < 0 ? index + index / kColors.size()
                                  : static_cast<size_t>(series.dash)) %
                 kDashes.size()];
}

std::string polyline(const Frame& frame, const Series& series, size_t index) {
  std::string points;
  double last = 0;
  bool first = true;
  for (const auto& point : series.points) {
    if (!finite(point)) continue;
    if (series.steps && !first)
      points += fmt::format("{:.1f},{:.1f} ", frame.px(point.first), frame.py(last));
    points += fmt::format("{:.1f},{:.1f} ", frame.px(point.first), frame.py(point.second));
    last = point.second;
    first = false;
  }
  return fmt::format(
      "<polyline points='{}' fill='none' stroke='{}' stroke-width='1.8' "
      "stroke-dasharray='{}'/>\n",
      points, color_of(series, index), dash_of(series, index));
}

/// Of a legend: three where all names are short enough.
size_t columns_of(const std::vector<Series>& series) {
  size_t longest = 0;
  for (const Series& one : series) longest = std::max(longest, one.name.size());
  return longest <= 24 ? 3 : longest <= 40 ? 2 : 1;
}

/// Entry `index` of a legend.
std::string legend_entry(const Series& series, size_t index, size_t columns) {
  const double x =
      kLeft + 585.0 / static_cast<double>(columns) * static_cast<double>(index % columns);
  const double y = kHeight + 12 + 18.0 * static_cast<double>(index / columns);
  return fmt::format(
             "<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='{}' "
             "stroke-width='2.5' stroke-dasharray='{}'/>\n",
             x, y - 4, x + 26, y - 4, color_of(series, index), dash_of(series, index)) +
         svg_text(x + 32, y, series.name, "left");
}

/// There along the upper edge and back along the lower.
std::string shade(const Frame& frame, const Series& series, size_t index) {
  std::vector<Band> band;
  for (const Band& at : series.band) {
    if (!std::isfinite(at.x) || !std::isfinite(at.low) || !std::isfinite(at.high)) continue;
    if (series.steps && !band.empty()) band.push_back({at.x, band.back().low, band.back().high});
    band.push_back(at);
  }
  if (band.empty()) return "";
  std::string points;
  for (const Band& at : band)
    points += fmt::format("{:.1f},{:.1f} ", frame.px(at.x), frame.py(at.high));
  for (auto at = band.rbegin(); at != band.rend(); ++at)
    points += fmt::format("{:.1f},{:.1f} ", frame.px(at->x), frame.py(at->low));
  return fmt::format("<polygon points='{}' fill='{}' fill-opacity='0.15'/>\n", points,
                     color_of(series, index));
}

/// "+2.5", "\u22122.5".
std::string with_sign(double value) {
  return fmt::format("{}{:.4g}", value < 0 ? "\u2212" : value > 0 ? "+" : "", std::abs(value));
}

/// Horizontal bars under way.
class BarChart {
 public:
  BarChart(const std::string& unit, const std::vector<Bar>& bars, bool gains)
      : unit_(unit), bars_(bars), gains_(gains) {
    double largest = 1e-12;
    for (const Bar& bar : bars) largest = std::max(largest, std::abs(bar.value));
    for (const Bar& bar : bars) {
      low_ = std::min({low_, bar.value, std::max(bar.low, -kMostOfBar * largest)});
      high_ = std::max({high_, bar.value, std::min(bar.high, kMostOfBar * largest)});
    }
    if (high_ - low_ < 1e-12) high_ = low_ + 1;
    left_ = kNames + (low_ < 0 ? kValues : 0);
    right_ = kWidth - (high_ > 0 ? kValues : kRight);
  }

  std::string draw(const std::string& title) const {
    const double bottom = kTop + kRow * static_cast<double>(bars_.size());
    std::string svg = open_svg(kWidth, bottom + kBottom, title);
    for (const double tick : round_ticks(low_, high_, 5)) {
      svg += svg_line(px(tick), kTop, px(tick), bottom + 4, "grid");
      svg += svg_text(px(tick), bottom + 17, text_of(tick), "middle");
    }
    svg += svg_line(left_, bottom, right_, bottom, "axis");
    svg += svg_text((left_ + right_) / 2, bottom + 36, unit_, "middle");
    for (size_t i = 0; i < bars_.size(); ++i) svg += row(i);
    return svg + svg_line(px(0), kTop, px(0), bottom, "axis") + "</svg>\n";
  }

 private:
  static constexpr double kNames = 150, kRow = 26, kValues = 100;
  static constexpr double kMostOfBar =
      2;  // an interval is cut off at so many times the longest bar

  double px(double value) const {
    return left_ + (value - low_) / (high_ - low_) * (right_ - left_);
  }
  std::string text_of(double value) const {
    return gains_ ? with_sign(value) : fmt::format("{:.4g}", value);
  }
  const char* color_of(size_t index) const {
    if (gains_) return kColors[bars_[index].value < 0 ? 1 : 0];
    return index == 0 ? "#888888" : kColors[0];
  }

  std::string row(size_t index) const {
    const Bar& bar = bars_[index];
    const double y = kTop + kRow * static_cast<double>(index);
    std::string svg = svg_text(kNames - 8, y + 15, bar.name, "right");
    svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='16' fill='{}'/>\n",
                       px(std::min(0.0, bar.value)), y + 3, std::abs(px(bar.value) - px(0)),
                       color_of(index));
    const double low = std::max(bar.low, low_), high = std::min(bar.high, high_);
    if (high > low) svg += svg_line(px(low), y + 11, px(high), y + 11, "axis");
    for (const double end : {bar.low, bar.high})
      if (high > low && end == std::clamp(end, low, high))
        svg += svg_line(px(end), y + 6, px(end), y + 16, "axis");
    const std::string value = fmt::format("{} {}", text_of(bar.value), unit_);
    if (bar.value < 0)
      return svg + svg_text(px(std::min(bar.value, low)) - 6, y + 15, value, "right");
    return svg + svg_text(px(std::max(bar.value, high)) + 6, y + 15, value, "left");
  }

  const std::string& unit_;
  const std::vector<Bar>& bars_;
  bool gains_;
  double low_ = 0, high_ = 0;
  double left_ = 0, right_ = 0;  // pixels
};

}  // namespace

const char* const kChartStyle = R"css(
svg{width:100%;height:auto;background:#fff}svg text{font:11px system-ui,sans-serif;fill:#333}
svg .title{font-size:13px;font-weight:600;text-anchor:middle}svg .middle{text-anchor:middle}
svg .right{text-anchor:end}svg .light{text-anchor:middle;fill:#fff}
svg .grid{stroke:#e6e6e6}svg .axis{stroke:#444}
.numbers{float:right;font-size:.75em;color:#0b5a8f}
)css";

std::string svg_file(const std::string& chart) {
  const size_t head = chart.find('>') + 1;
  return chart.substr(0, head) + "<style>" + kChartStyle + "</style>" + chart.substr(head);
}

const char* chart_color(size_t number) { return kColors[number % kColors.size()]; }

std::string open_svg(double width, double height, const std::string& title) {
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' role='img' "
      "aria-label=\"{2}\"><text x='{3:.0f}' y='18' class='title'>{2}</text>\n",
      width, height, escape_html(title), width / 2);
}

std::string svg_text(double x, double y, const std::string& what, const char* css) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' class='{}'>{}</text>\n", x, y, css,
                     escape_html(what));
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* css) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' class='{}'/>\n", x1, y1,
                     x2, y2, css);
}

std::string escape_html(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high - low) / std::max(1, count);
  if (!(rough > 0)) return {low};
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  const bool many = high / low > 1000;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high * (1 + 1e-9);
       power *= 10)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9) && (factor == 1 || !many))
        ticks.push_back(tick);
    }
  return ticks;
}

namespace {

std::string draw_lines(const std::string& title, const ChartAxes& axes,
                       const std::vector<Series>& series) {
  Frame frame = frame_of(axes, series);
  if (frame.empty()) return "";
  if (axes.skip_flat && skip_flat(frame.x, series)) {
    ChartAxes cut = axes;
    cut.skip_flat = false;
    cut.x_label += fmt::format("; flat before {:.3g}", frame.x.low);
    return draw_lines(title, cut, cut_to(frame.x.low, series));
  }
  const size_t columns = columns_of(series);
  const double legend = 18.0 * static_cast<double>((series.size() + columns - 1) / columns);
  std::string svg = open_svg(kWidth, kHeight + legend, title) + draw_axes(frame, axes);
  for (size_t i = 0; i < series.size(); ++i) svg += shade(frame, series[i], i);
  for (size_t i = 0; i < series.size(); ++i)
    svg += polyline(frame, series[i], i) + legend_entry(series[i], i, columns);
  return svg + "</svg>\n";
}

std::string draw_cells(const std::string& title, const std::vector<std::string>& rows,
                       const std::vector<std::string>& columns,
                       const std::vector<std::vector<double>>& cells) {
  constexpr double kNames = 220, kRow = 20, kHead = 96;
  const double cell = (kWidth - kNames - 10) / static_cast<double>(columns.size());
  double largest = 1e-12;
  for (const auto& row : cells)
    for (const double value : row) largest = std::max(largest, value);
  std::string svg =
      open_svg(kWidth, kTop + kHead + kRow * static_cast<double>(rows.size()) + 8, title);
  for (size_t j = 0; j < columns.size(); ++j)
    svg += fmt::format(
        "<text transform='translate({:.1f},{:.1f}) rotate(-40)' class='left'>{}</text>\n",
        kNames + cell * (static_cast<double>(j) + 0.4), kTop + kHead - 6, escape_html(columns[j]));
  for (size_t i = 0; i < rows.size(); ++i) {
    const double y = kTop + kHead + kRow * static_cast<double>(i);
    svg += svg_text(kNames - 8, y + 14, rows[i], "right");
    for (size_t j = 0; j < columns.size(); ++j) {
      const double value = cells[i][j], share = value / largest;
      const double x = kNames + cell * static_cast<double>(j);
      svg += fmt::format(
          "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='#0072b2' "
          "fill-opacity='{:.3f}'/>\n",
          x, y, cell - 1, kRow - 1, value > 0 ? 0.12 + 0.88 * share : 0.03);
      if (value > 0)
        svg += svg_text(x + cell / 2, y + 14, fmt::format("{:g}", value),
                        share > 0.5 ? "light" : "middle");
    }
  }
  return svg + "</svg>\n";
}

std::string number(double value) { return fmt::format("{}", value); }

/// RFC 4180.
std::string csv_of(const std::vector<std::string>& heads,
                   const std::vector<std::vector<std::string>>& rows) {
  std::string csv;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) csv += ',';
      const bool is_plain = cells[i].find_first_of(",\"\r\n") == std::string::npos;
      if (!is_plain) csv += '"';
      for (const char c : cells[i]) csv += c == '"' ? "\"\"" : std::string(1, c);
      if (!is_plain) csv += '"';
    }
    csv += "\r\n";
  };
  add(heads);
  for (const auto& row : rows) add(row);
  return csv;
}

std::string csv_of_lines(const ChartAxes& axes, const std::vector<Series>& series) {
  std::vector<std::string> heads = {"series", axes.x_label, axes.y_label};
  const bool banded =
      std::ranges::any_of(series, [](const Series& one) { return !one.band.empty(); });
  if (banded) heads.insert(heads.end(), {"low", "high"});
  std::vector<std::vector<std::string>> rows;
  for (const Series& one : series)
    for (size_t i = 0; i < one.points.size(); ++i) {
      rows.push_back({one.name, number(one.points[i].first), number(one.points[i].second)});
      if (!banded) continue;
      const bool has = one.band.size() == one.points.size();
      rows.back().push_back(has ? number(one.band[i].low) : "");
      rows.back().push_back(has ? number(one.band[i].high) : "");
    }
  return csv_of(heads, rows);
}

Chart draw_bars(const std::string& title, const std::string& unit, const std::vector<Bar>& bars,
                bool gains) {
  if (bars.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const Bar& bar : bars)
    rows.push_back({bar.name, number(bar.value), number(bar.low), number(bar.high)});
  return {BarChart(unit, bars, gains).draw(title), csv_of({"name", unit, "low", "high"}, rows)};
}

}  // namespace

Chart line_chart(const std::string& title, const ChartAxes& axes,
                 const std::vector<Series>& series) {
  std::string svg = draw_lines(title, axes, series);
  return svg.empty() ? Chart() : Chart{std::move(svg), csv_of_lines(axes, series)};
}

Chart bar_chart(const std::string& title, const std::string& unit, const std::vector<Bar>& bars) {
  return draw_bars(title, unit, bars, false);
}

Chart gain_chart(const std::string& title, const std::vector<Bar>& bars) {
  return draw_bars(title, "%", bars, true);
}

Chart heat_map(const std::string& title, const std::vector<std::string>& rows,
               const std::vector<std::string>& columns,
               const std::vector<std::vector<double>>& cells) {
  if (rows.empty() || columns.empty()) return {};
  std::vector<std::string> heads = {""};
  heads.insert(heads.end(), columns.begin(), columns.end());
  std::vector<std::vector<std::string>> table;
  for (size_t i = 0; i < rows.size(); ++i) {
    table.push_back({rows[i]});
    for (const double cell : cells[i]) table.back().push_back(number(cell));
  }
  return {draw_cells(title, rows, columns, cells), csv_of(heads, table)};
}

}  // namespace reverie
