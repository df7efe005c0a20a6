#include "core/report/curves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/report/html.h"

namespace reverie {
namespace {

using Point = std::pair<double, double>;

double field_of(const std::map<std::string, double>& point, const std::string& field,
                const FlatRun& run) {
  const auto found = point.find(field);
  if (found == point.end())
    throw InputError("{}: a point of its trace has no number '{}'", run.where, field);
  return found->second;
}

struct RunTrace {
  std::string method, task;
  std::vector<Point> points;  ///< x and the scored metric
};

RunTrace trace_of(const Score& score, const Scores& scores, const CurveOptions& options) {
  RunTrace trace{score.method, score.task, {}};
  for (const auto& point : score.run->trace) {
    const double raw = field_of(point, options.summary.metric, *score.run);
    trace.points.emplace_back(field_of(point, options.x, *score.run),
                              *scores.value(score.task, raw));
  }
  if (trace.points.empty())
    throw InputError("{}: has neither a number '{}' nor a trace", score.run->where, options.x);
  return trace;
}

/// The last value at or before x.
double value_at(const RunTrace& trace, double x) {
  const auto after =
      std::upper_bound(trace.points.begin(), trace.points.end(), x,
                       [](double at, const Point& point) { return at < point.first; });
  REVERIE_CHECK(after != trace.points.begin());
  return std::prev(after)->second;
}

void add(Series& line, double x, const Estimate& found) {
  line.points.emplace_back(x, found.value);
  line.band.push_back({x, found.low, found.high});
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The place of a name, which is added where it is new.
int place_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  const auto place = found - names.begin();
  if (found == names.end()) names.push_back(name);
  return static_cast<int>(place);
}

/// Places along x, evenly or by equal factors.
std::vector<double> grid(double low, double high, const CurveOptions& options) {
  if (high <= low) return {low};
  std::vector<double> places;
  for (int i = 0; i < options.points; ++i) {
    const double share = static_cast<double>(i) / (options.points - 1);
    places.push_back(options.log_x ? low * std::pow(high / low, share)
                                   : low + share * (high - low));
  }
  places.back() = high;
  return places;
}

/// Where the lines of traces run: from where all have a point (above 0 on a logarithmic scale) to
/// the end of the longest.
std::vector<double> grid_of(const std::vector<RunTrace>& traces, const CurveOptions& options) {
  double low = -1e300, high = -1e300, least = 1e300;
  for (const RunTrace& trace : traces) {
    low = std::max(low, trace.points.front().first);
    high = std::max(high, trace.points.back().first);
    for (const Point& point : trace.points)
      if (point.first > 0) least = std::min(least, point.first);
  }
  if (options.log_x && low <= 0) low = std::min(least, high);
  return grid(low, high, options);
}

std::vector<std::string> common_tasks(const Scores& scores) {
  std::vector<std::string> common;
  for (const std::string& task : scores.tasks())
    if (std::all_of(scores.methods().begin(), scores.methods().end(),
                    [&](const std::string& method) { return !scores.of(method, task).empty(); }))
      common.push_back(task);
  if (common.empty()) throw InputError("there is no task on which all have runs");
  return common;
}

size_t task_of(const std::vector<std::string>& tasks, const RunTrace& trace) {
  return static_cast<size_t>(std::find(tasks.begin(), tasks.end(), trace.task) - tasks.begin());
}

/// Of a method at x.
Strata values_at(const std::vector<RunTrace>& traces, const std::string& method,
                 const std::vector<std::string>& tasks, double x) {
  Strata strata(tasks.size());
  for (const RunTrace& trace : traces)
    if (trace.method == method) strata[task_of(tasks, trace)].push_back(value_at(trace, x));
  return strata;
}

/// Values hold until the next point.
Series held_line(const std::vector<RunTrace>& traces, const std::string& method,
                 const std::vector<std::string>& tasks, const CurveOptions& options) {
  Series line{method, {}, true};
  for (const double x : grid_of(traces, options))
    add(line, x, aggregate(values_at(traces, method, tasks, x), options.summary.bootstrap));
  return line;
}

/// Through the first points of all runs, the second ones, and so on.
Series straight_line(const std::vector<RunTrace>& traces, const std::string& method,
                     const std::vector<std::string>& tasks, const CurveOptions& options) {
  Series line{method, {}, false};
  std::vector<RunTrace> own;
  for (const RunTrace& trace : traces)
    if (trace.method == method) own.push_back(trace);
  const std::vector<Point> places = own.front().points;
  for (size_t i = 0; i < places.size(); ++i) {
    Strata strata(tasks.size());
    for (const RunTrace& trace : own) {
      if (trace.points.size() != places.size() || trace.points[i].first != places[i].first)
        throw InputError("the traces of {} do not have their points at the same {}", method,
                         options.x);
      strata[task_of(tasks, trace)].push_back(trace.points[i].second);
    }
    add(line, places[i].first, aggregate(strata, options.summary.bootstrap));
  }
  return line;
}

Curves trace_curves(const Scores& scores, const CurveOptions& options) {
  if (scores.tasks().empty()) return {};
  Curves result{{}, common_tasks(scores)};
  std::vector<RunTrace> traces;
  for (const Score& score : scores.scores())
    if (contains(result.tasks, score.task)) traces.push_back(trace_of(score, scores, options));
  for (const std::string& method : scores.methods())
    result.series.push_back(options.straight ? straight_line(traces, method, result.tasks, options)
                                             : held_line(traces, method, result.tasks, options));
  return result;
}

Series& line_of(std::vector<Series>& series, const std::string& name) {
  for (Series& one : series)
    if (one.name == name) return one;
  return series.emplace_back(Series{name, {}, false});
}

/// A summary of the runs at each x, in ascending order.
Curves field_curves(const std::vector<FlatRun>& runs, const CurveOptions& options) {
  std::map<double, std::string> places;
  for (const FlatRun& run : runs_where(runs, options.summary.where))
    places.emplace(run.number(options.x), run.word(options.x));
  Curves result;
  for (const auto& [x, text] : places) {
    SummaryOptions here = options.summary;
    here.versus.clear();
    here.where.emplace_back(options.x, text);
    const Summary summary = summarize(runs, here);
    for (const SummaryRow& row : summary.rows) add(line_of(result.series, row.method), x, row.iqm);
    for (const std::string& task : summary.common) place_of(result.tasks, task);
  }
  return result;
}

/// How many percent of a method's runs are as good as x, or better; tasks weigh alike.
Estimate reached(const Scores& scores, const std::string& method,
                 const std::vector<std::string>& tasks, double x, const SummaryOptions& options) {
  const double sign = options.larger_is_better() ? 1 : -1;
  Strata strata;
  for (const std::string& task : tasks) {
    strata.emplace_back();
    for (const Score& score : scores.of(method, task))
      strata.back().push_back(sign * score.value >= sign * x ? 100 : 0);
  }
  return mean_over_strata(strata, options.bootstrap);
}

/// A share changes at the values of runs alone: after one where larger is better, else at it.
Curves profiles(const Scores& scores, const CurveOptions& options) {
  if (scores.tasks().empty()) return {};
  Curves result{{}, common_tasks(scores)};
  std::set<double> places;
  for (const Score& score : scores.scores())
    if (contains(result.tasks, score.task)) places.insert(score.value);
  for (const std::string& method : scores.methods()) {
    Series line{method, {}, false};
    std::optional<std::pair<double, Estimate>> before;
    for (const double place : places) {
      const Estimate share = reached(scores, method, result.tasks, place, options.summary);
      if (before && options.summary.larger_is_better()) add(line, before->first, share);
      if (before && !options.summary.larger_is_better()) add(line, place, before->second);
      add(line, place, share);
      before = {place, share};
    }
    result.series.push_back(std::move(line));
  }
  return result;
}

std::vector<std::string> metrics_of(const CurveOptions& options) {
  std::vector<std::string> metrics = {options.summary.metric};
  metrics.insert(metrics.end(), options.beside.begin(), options.beside.end());
  return metrics;
}

std::string metric_label(const CurveOptions& options) {
  return (options.summary.gap_closed ? "share of the gap closed, percent"
                                     : fmt::format("{}", fmt::join(metrics_of(options), ", ")));
}

std::string y_label(const CurveOptions& options) {
  if (!options.y_label.empty()) return options.y_label;
  return (options.profile ? "runs that reach it, percent" : metric_label(options)) +
         (options.log_y ? ", logarithmic" : "");
}

std::string x_label(const CurveOptions& options) {
  if (!options.x_label.empty()) return options.x_label;
  return (options.profile ? metric_label(options) : options.x) +
         (options.log_x ? ", logarithmic" : "");
}

/// Of the metric of `summary`.
Curves curves_of_metric(const std::vector<FlatRun>& runs, const CurveOptions& options) {
  if (runs.empty()) return {};
  if (options.profile) return profiles(Scores(runs, options.summary), options);
  const FlatRun& first = runs.front();
  const bool along_trace = !first.trace.empty() && first.trace.front().count(options.x);
  if (!along_trace && first.numbers.count(options.x)) return field_curves(runs, options);
  return trace_curves(Scores(runs, options.summary), options);
}

}  // namespace

Curves curves(const std::vector<FlatRun>& runs, const CurveOptions& options) {
  if (options.beside.empty()) return curves_of_metric(runs, options);
  Curves all;
  std::vector<std::string> methods;
  const std::vector<std::string> metrics = metrics_of(options);
  for (size_t m = 0; m < metrics.size(); ++m) {
    CurveOptions one = options;
    one.summary.metric = metrics[m];
    Curves found = curves_of_metric(runs, one);
    for (const std::string& task : found.tasks) place_of(all.tasks, task);
    for (Series& line : found.series) {
      line.color = place_of(methods, line.name);
      line.dash = static_cast<int>(m);
      line.name += ", " + metrics[m];
      all.series.push_back(std::move(line));
    }
  }
  std::stable_sort(all.series.begin(), all.series.end(),
                   [](const Series& a, const Series& b) { return a.color < b.color; });
  return all;
}

Chart curve_chart(const std::vector<FlatRun>& runs, const CurveOptions& options) {
  const ChartAxes axes{.x_label = x_label(options),
                       .y_label = y_label(options),
                       .log_x = options.log_x,
                       .log_y = options.log_y};
  return line_chart(options.title, axes, curves(runs, options).series);
}

std::string curve_page(const std::vector<FlatRun>& runs, const CurveOptions& options) {
  const std::vector<std::string> tasks = curves(runs, options).tasks;
  const auto figure = [&](CurveOptions of, const std::string& title) {
    of.title = title;
    return html_figure(curve_chart(runs, of));
  };
  std::string html = fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{0}</title><style>\n"
      "body{{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em}}\n"
      "figure{{margin:0 auto;max-width:760px;width:100%}}\n"
      ".plots{{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:1.2em;"
      "margin-top:2em}}\n{1}</style></head><body><h1>{0}</h1>\n"
      "<p>Lines: {5}. Bands: the {2:g}% interval by a bootstrap of the runs of each "
      "{3}.</p>\n{4}<div class='plots'>\n",
      escape_html(options.title), kChartStyle, 100 * options.summary.bootstrap.confidence,
      escape_html(options.summary.strata),
      figure(options, fmt::format("all: {}", fmt::join(tasks, ", "))),
      options.profile ? "runs that are as good as x, or better" : "interquartile mean over runs");
  for (const std::string& task : tasks) {
    CurveOptions one = options;
    one.summary.where.emplace_back(options.summary.strata, task);
    html += figure(one, task);
  }
  return html + "</div></body></html>\n";
}

}  // namespace reverie
