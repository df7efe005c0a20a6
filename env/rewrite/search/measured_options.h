#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/cost/fitted.h"

namespace reverie {

/// The state of a search after one more measurement.
struct MeasuredPoint {
  double seconds = 0;   ///< since the search began
  double measured = 0;  ///< the graph's time in seconds
  double best = 0;      ///< of the graph that would be chosen now: the mean of its measurements
};

struct MeasuredReport {
  std::vector<MeasuredPoint> trace;  ///< one a measurement; the first is the original
  int64_t graphs = 0;                ///< distinct ones among them
  std::vector<TimedGraph> timed;     ///< these, the original first; once the search is over
  /// surrogate: FittedCost's scale, deviation and mismatch when it guided last.
  double scale = 0, deviation = 0, mismatch = 0;
};

struct MeasuredOptions {
  /// Measurements of whole graphs, that of the original and those at the end included; 0: a search
  /// by costs alone.
  int64_t budget = 0;
  /// Of the budget, at most a fifth of it: the three graphs that look fastest are measured again at
  /// the end, in turn. The least of many noisy times is too low; the mean of these decides.
  int64_t again = 6;
  /// surrogate: measurements after which the costs are fitted anew.
  int64_t batch = 4;
  /// surrogate: the search under fitted costs, and its budget.
  std::string inner = "rulelist";
  int64_t inner_budget = 16;
  /// A measurement: rounds, each a run of the graph and one of the original, at least; and seconds
  /// at least.
  int64_t rounds = 9;
  double seconds = 0.15;
  /// Called after each measurement, by the thread that called the search.
  std::function<void(const MeasuredReport&)> on_measured;

  template <class V>
  void fields(V& v) {
    v.field("budget", budget, "Measurements of whole graphs, 0: search by costs alone",
            at_least(0));
    v.field("again", again, "Of the budget, measurements of the three fastest again at the end",
            at_least(0));
    v.field("batch", batch, "surrogate: measurements after which costs are fitted anew",
            at_least(1));
    v.field(
        "inner", inner,
        "surrogate: the search under fitted costs, such as rulelist, greedy, taso, beam or mcts");
    v.field("inner_budget", inner_budget, "surrogate: its budget", at_least(1));
    v.field("rounds", rounds, "Rounds of a measurement at least", at_least(6));
    v.field("seconds", seconds, "Seconds of a measurement at least", at_least(0));
  }
};

}  // namespace reverie
