#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/machine.h"
#include "core/cost/table.h"
#include "core/cost/timing.h"
#include "core/exec/executor.h"

namespace reverie {

/// Where measurements are kept between runs: $REVERIE_CACHE, else $XDG_CACHE_HOME/reverie, else
/// $HOME/.cache/reverie; empty where there is no home, or nothing can be written there.
std::string cache_directory();

struct MeasureOptions {
  TimingOptions timing = {};
  /// One thread of this processor: starting and joining several takes as long as many an operator
  /// does, and differs with what else the machine is doing.
  std::shared_ptr<Machine> machine = cpu_machine();
  /// Seconds from the making of the model after which nothing more is measured; 0: none.
  double time_limit = 0;
  /// Directory of the cost table; "" keeps measurements in memory alone.
  std::string directory = cache_directory();
  /// Told of each operator that could not be run, and why, before it is estimated; by default the
  /// first few are said on stderr.
  std::function<void(const std::string& signature, const std::string& reason)> on_unmeasured = {};
  /// The table itself, instead of one in the directory. InputError where it is there and of another
  /// device.
  std::string table = {};
};

/// Each operator alone on the machine (Machine::time_operator), so that what a graph takes end to
/// end can be more. The median of repeated runs after a warm-up. Measured once per signature, then
/// taken from memory, or from the cost table of this machine and library version (and version of
/// the file); the table is brought up to date while measuring and at the end. Opaque operators, and
/// those that cannot be run on made-up inputs, are estimated; so is what is new once the time is
/// over, by what was measured (core/cost/scaled_estimates.h), and not kept. Several threads may
/// ask; one measures at a time.
std::shared_ptr<CostModel> make_measured_cost_model(const MeasureOptions& options = {});

/// The file in which `options` keep their measurements; empty when in memory alone.
std::string measured_table_path(const MeasureOptions& options);

struct EndToEndOptions {
  int repeats = 30;          ///< runs at least (rounds, when interleaved)
  double min_seconds = 0.2;  ///< and for this long at least
  std::shared_ptr<Machine> machine = cpu_machine();
};

/// A whole graph, timed.
struct EndToEnd {
  Picoseconds median;
  Picoseconds low;  ///< 95% interval of the median, see MedianInterval
  Picoseconds high;
  int repeats = 0;
  int fallbacks =
      0;  ///< nodes that ran on the reference kernels, beside a device with all transfers
};

struct Interleaved {
  std::vector<EndToEnd> graphs;
  /// Per graph: median and 95% interval of its time divided by the first graph's time in the same
  /// round. Drift of the machine meets all graphs of a round alike.
  std::vector<MedianInterval> ratio_to_first;
};

/// Several graphs in turn, A B C A B C ..., for paired comparison: each compiled once, warmed up,
/// run again and again on random inputs. InputError when there is none.
Interleaved measure_interleaved(const std::vector<Graph>& graphs,
                                const EndToEndOptions& options = {},
                                const WeightSource& weights = materialized);

/// Times graphs one after another, comparably however long that takes: each runs in turn with an
/// original (A B A B ...), which stays ready. `repeats` counts these pairs. InputError when a graph
/// cannot be run.
class PairedTimer {
 public:
  explicit PairedTimer(const Graph& original, const EndToEndOptions& options = {});
  /// Of its time and the original's: the median, and its 95% interval.
  MedianInterval ratio(const Graph& graph);
  /// That ratio times what the original took at first.
  MedianInterval seconds(const Graph& graph);

 private:
  bool go_on(const std::vector<double>& samples, double total) const;

  EndToEndOptions options_;
  std::unique_ptr<ReadyGraph> original_;
  double reference_ = 0;  // seconds
};

}  // namespace reverie
