#pragma once

#include <string>
#include <vector>

#include "core/report/summary.h"
#include "core/report/svg.h"

namespace reverie {

struct CurveOptions {
  SummaryOptions summary;  ///< `versus` is not looked at
  /// Field of the points of traces ("seconds", "expansions"), which then hold the metric too; or,
  /// where the first run's trace has no such field, of the runs themselves ("budget"). In a trace
  /// the last point at or before x counts, also beyond its end: a run that is over keeps what it
  /// found.
  std::string x = "budget";
  std::vector<std::string> beside = {};  ///< metrics that are drawn beside that of `summary`
  std::string title;
  std::string x_label, y_label;  ///< empty: the names of the fields
  bool log_x = false, log_y = false;
  /// Instead of a curve over `x` a performance profile (Agarwal et al. 2021, section 4.2): which
  /// percentage of the runs is as good as the metric's value at x, or better.
  bool profile = false;
  /// Of traces: straight lines through their points, which all runs of a method must have at the
  /// same x; two points at one x are both drawn.
  bool straight = false;
  int points = 60;  ///< along x, of traces
};

struct Curves {
  /// One per method and metric, methods in order of appearance. Where there are several metrics,
  /// lines are named "METHOD, METRIC", and those of a method share a colour, those of a metric a
  /// dash pattern.
  std::vector<Series> series;
  std::vector<std::string> tasks;  ///< that they are of
};

/// The interquartile mean over the runs of all tasks that every method has runs of (at that x),
/// tasks weighing alike (aggregate), with its interval as the band. Traces begin where all have a
/// point. Empty where gaps leave no task. InputError as Scores says, or naming the run whose trace
/// lacks a field.
Curves curves(const std::vector<FlatRun>& runs, const CurveOptions& options);

/// As a chart.
Chart curve_chart(const std::vector<FlatRun>& runs, const CurveOptions& options);
/// A page of its own: the chart over all tasks, then one of each.
std::string curve_page(const std::vector<FlatRun>& runs, const CurveOptions& options);

}  // namespace reverie
