#include "controller/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace reverie {
namespace {

constexpr double kWidth = 640, kHeight = 320, kLeft = 64, kRight = 16, kTop = 34, kBottom = 44;
/// Okabe and Ito (2008): told apart by people who see few colours.
constexpr std::array<const char*, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000", "#8a7a00"};

struct Range {
  double low = 1e300, high = -1e300;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  void widen() {
    if (high - low < 1e-12) {
      const double pad = std::max(1e-6, std::abs(low) * 0.05);
      low -= pad;
      high += pad;
    }
  }
};

bool finite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

std::string open_svg(double width, double height, const std::string& title) {
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' role='img' "
      "aria-label=\"{2}\"><text x='{3:.0f}' y='18' class='title'>{2}</text>\n",
      width, height, escape_html(title), width / 2);
}

std::string text(double x, double y, const std::string& what, const char* css) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' class='{}'>{}</text>\n", x, y, css,
                     escape_html(what));
}

std::string line(double x1, double y1, double x2, double y2, const char* css) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' class='{}'/>\n", x1, y1,
                     x2, y2, css);
}

/// The frame of a line chart: from data to pixels.
struct Frame {
  Range x, y;
  double px(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double py(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

std::string axes(const Frame& frame, const std::string& x_label, const std::string& y_label) {
  std::string svg;
  for (const double tick : round_ticks(frame.y.low, frame.y.high, 5)) {
    svg += line(kLeft, frame.py(tick), kWidth - kRight, frame.py(tick), "grid");
    svg += text(kLeft - 6, frame.py(tick) + 4, fmt::format("{:.4g}", tick), "right");
  }
  for (const double tick : round_ticks(frame.x.low, frame.x.high, 7)) {
    svg += line(frame.px(tick), kHeight - kBottom, frame.px(tick), kHeight - kBottom + 4, "axis");
    svg += text(frame.px(tick), kHeight - kBottom + 17, fmt::format("{:.4g}", tick), "middle");
  }
  svg += line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "axis");
  svg += text((kLeft + kWidth - kRight) / 2, kHeight - 8, x_label, "middle");
  svg += fmt::format("<text transform='translate(14,{:.1f}) rotate(-90)' class='middle'>{}</text>\n",
                     (kTop + kHeight - kBottom) / 2, escape_html(y_label));
  return svg;
}

std::string polyline(const Frame& frame, const Series& series, const char* color) {
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
  return fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='1.8'/>\n", points,
                     color);
}

}  // namespace

std::string escape_html(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else if (c == '"') result += "&quot;";
    else result += c;
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

std::string line_chart(const std::string& title, const std::string& x_label,
                       const std::string& y_label, const std::vector<Series>& series) {
  Frame frame;
  for (const Series& one : series)
    for (const auto& point : one.points)
      if (finite(point)) {
        frame.x.add(point.first);
        frame.y.add(point.second);
      }
  if (frame.x.empty()) return "";
  frame.x.widen();
  frame.y.widen();
  const double legend = 18.0 * static_cast<double>((series.size() + 2) / 3);
  std::string svg = open_svg(kWidth, kHeight + legend, title) + axes(frame, x_label, y_label);
  for (size_t i = 0; i < series.size(); ++i) {
    const char* color = kColors[i % kColors.size()];
    svg += polyline(frame, series[i], color);
    const double x = kLeft + 195.0 * static_cast<double>(i % 3);
    const double y = kHeight + 12 + 18.0 * static_cast<double>(i / 3);
    svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='14' height='4' fill='{}'/>\n", x, y - 6,
                       color);
    svg += text(x + 20, y, series[i].name, "left");
  }
  return svg + "</svg>\n";
}

std::string bar_chart(const std::string& title, const std::string& unit,
                      const std::vector<Bar>& bars) {
  if (bars.empty()) return "";
  constexpr double kNames = 150, kRow = 26, kValues = 150;
  double largest = 1e-12;
  for (const Bar& bar : bars) largest = std::max({largest, bar.value, bar.high});
  const auto px = [&](double value) {
    return kNames + std::max(0.0, value) / largest * (kWidth - kNames - kValues);
  };
  std::string svg = open_svg(kWidth, kTop + kRow * static_cast<double>(bars.size()) + 8, title);
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kTop + kRow * static_cast<double>(i);
    svg += text(kNames - 8, y + 15, bar.name, "right");
    svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='16' fill='{}'/>\n",
                       kNames, y + 3, px(bar.value) - kNames, i == 0 ? "#888888" : kColors[0]);
    if (bar.high > bar.low) {
      svg += line(px(bar.low), y + 11, px(bar.high), y + 11, "axis");
      svg += line(px(bar.low), y + 6, px(bar.low), y + 16, "axis");
      svg += line(px(bar.high), y + 6, px(bar.high), y + 16, "axis");
    }
    svg += text(std::max(px(bar.value), px(bar.high)) + 6, y + 15,
                fmt::format("{:.4g} {}", bar.value, unit), "left");
  }
  return svg + "</svg>\n";
}

std::string heat_map(const std::string& title, const std::vector<std::string>& rows,
                     const std::vector<std::string>& columns,
                     const std::vector<std::vector<double>>& cells) {
  if (rows.empty() || columns.empty()) return "";
  constexpr double kNames = 220, kRow = 20, kHead = 96;
  const double cell = (kWidth - kNames - 10) / static_cast<double>(columns.size());
  double largest = 1e-12;
  for (const auto& row : cells)
    for (const double value : row) largest = std::max(largest, value);
  std::string svg =
      open_svg(kWidth, kTop + kHead + kRow * static_cast<double>(rows.size()) + 8, title);
  for (size_t j = 0; j < columns.size(); ++j)
    svg += fmt::format("<text transform='translate({:.1f},{:.1f}) rotate(-40)' class='left'>{}</text>\n",
                       kNames + cell * (static_cast<double>(j) + 0.4), kTop + kHead - 6,
                       escape_html(columns[j]));
  for (size_t i = 0; i < rows.size(); ++i) {
    const double y = kTop + kHead + kRow * static_cast<double>(i);
    svg += text(kNames - 8, y + 14, rows[i], "right");
    for (size_t j = 0; j < columns.size(); ++j) {
      const double value = cells[i][j], share = value / largest;
      const double x = kNames + cell * static_cast<double>(j);
      svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='#0072b2' "
                         "fill-opacity='{:.3f}'/>\n", x, y, cell - 1, kRow - 1,
                         value > 0 ? 0.12 + 0.88 * share : 0.03);
      if (value > 0)
        svg += text(x + cell / 2, y + 14, fmt::format("{:g}", value), share > 0.5 ? "light" : "middle");
    }
  }
  return svg + "</svg>\n";
}

}  // namespace reverie
