#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/report/svg.h"
#include "env/placement/report/charts.h"
#include "env/placement/report/display.h"

namespace reverie {
namespace {

constexpr int64_t kMostIntervals = 1120;  ///< two a pixel
constexpr int64_t kMostPoints = 4000;
constexpr int64_t kNear = 4;  ///< a limit within so many times the peak is drawn
constexpr int kBlack = 6;     ///< number of the colour

using Curve = std::vector<Timeline::MemoryStep>;

Series series_of(const std::string& name, const Curve& curve, Picoseconds end,
                 const DisplayUnit& time, const DisplayUnit& bytes) {
  Series series{.name = name, .points = {}, .steps = true, .dash = 0};
  for (const Timeline::MemoryStep& step : curve)
    series.points.emplace_back(static_cast<double>(step.time.count) / time.size,
                               static_cast<double>(step.bytes) / bytes.size);
  series.points.emplace_back(static_cast<double>(end.count) / time.size,
                             series.points.back().second);
  return series;
}

/// A line for each limit; devices of the same limit share it.
std::vector<Series> limits_of(const Topology& topology, int64_t peak, double end,
                              const DisplayUnit& bytes) {
  std::map<int64_t, std::vector<int>> devices;
  for (int device = 0; device < topology.size(); ++device) {
    const int64_t limit = topology.devices[static_cast<size_t>(device)].memory_bytes;
    if (limit != Device::kUnlimited) devices[limit].push_back(device);
  }
  std::vector<Series> all;
  for (const auto& [limit, own] : devices) {
    const std::string of =
        own.size() == 1 ? short_name(topology.devices[static_cast<size_t>(own.front())].name, 18)
                        : fmt::format("{} devices", own.size());
    const bool is_near = limit / kNear <= peak;
    const double y = static_cast<double>(limit) / bytes.size;
    Series line{
        .name = fmt::format("limit of {}: {}{}", of, bytes_text(limit), is_near ? "" : " (above)"),
        .points = {},
        .color = own.size() == 1 ? own.front() : kBlack,
        .dash = 1};
    if (is_near) line.points = {{0.0, y}, {end, y}};
    all.push_back(std::move(line));
  }
  return all;
}

}  // namespace

std::vector<Timeline::MemoryStep> memory_curve(const Timeline& timeline, int device,
                                               Picoseconds interval) {
  const int64_t length = std::max<int64_t>(1, interval.count);
  const auto number = [&](Picoseconds time) { return (time.count + length - 1) / length; };
  Curve curve;
  Timeline::MemoryStep highest{device, {0}, 0}, last = highest;
  const auto close = [&] {
    if (highest.bytes > last.bytes) curve.push_back(highest);
    curve.push_back(last);
  };
  for (const Timeline::MemoryStep& step : timeline.memory) {
    if (step.device != device) continue;
    const bool is_new = number(step.time) != number(last.time);
    if (is_new) close();
    if (is_new || step.bytes >= highest.bytes) highest = step;
    last = step;
  }
  close();
  return curve;
}

Chart memory_chart(const CostGraph& graph, const Topology& topology, const Timeline& timeline) {
  if (timeline.runs.empty()) return {};
  const Picoseconds end{std::max<int64_t>(end_of(timeline).count, 1)};
  const int64_t intervals = std::clamp<int64_t>(kMostPoints / topology.size(), 1, kMostIntervals);
  std::vector<Curve> curves;
  int64_t peak = 0;
  for (int device = 0; device < topology.size(); ++device) {
    curves.push_back(memory_curve(timeline, device, {end.count / intervals}));
    for (const auto& step : curves.back()) peak = std::max(peak, step.bytes);
  }
  const DisplayUnit time = time_unit(end), bytes = byte_unit(peak);
  std::vector<Series> series;
  for (int device = 0; device < topology.size(); ++device) {
    const auto i = static_cast<size_t>(device);
    series.push_back(
        series_of(short_name(topology.devices[i].name, 24), curves[i], end, time, bytes));
    series.back().color = device;
  }
  for (Series& line : limits_of(topology, peak, static_cast<double>(end.count) / time.size, bytes))
    series.push_back(std::move(line));
  return line_chart(fmt::format("Memory of {} on {}", short_name(graph.name(), 32),
                                short_name(topology.name, 24)),
                    {.x_label = fmt::format("time, {}", time.name),
                     .y_label = fmt::format("memory, {}", bytes.name),
                     .from_zero = true},
                    series);
}

}  // namespace reverie
