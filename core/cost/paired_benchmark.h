#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/stop.h"
#include "core/cost/timing.h"

namespace reverie {

/// One round of a benchmark. It makes the contestants ready anew, so that the places of their
/// memory are drawn anew too. These shift all runs of a round by a percent or more: one long round
/// would give an interval that is too narrow.
class BenchmarkRound {
 public:
  virtual ~BenchmarkRound() = default;
  /// Seconds of one run of a contestant that takes part.
  virtual double run(int contestant) = 0;
  /// Its nodes that run on the reference kernels.
  virtual int fallbacks(int) const { return 0; }
};

/// Makes the contestants of a round ready, in that order.
using NewRound = std::function<std::unique_ptr<BenchmarkRound>(std::span<const int> contestants)>;

struct BenchmarkOptions {
  int screening = 2;    ///< rounds after which the slower half leaves
  int finalists = 2;    ///< that meet the first contestant in fresh rounds
  int min_rounds = 9;   ///< of the final
  int max_rounds = 25;  ///< twice as many, and so on, as long as the interval of a finalist holds 1
  double target_spread = 0.005;  ///< the final ends once each ratio's interval is that narrow
  /// After so much time no round begins; runs, what goes on around them and making ready count. The
  /// final has 6 rounds all the same.
  double max_seconds = 60;
  double screening_seconds = 60;  ///< the same for the screening
  double round_seconds = 0.2;     ///< a round goes on for so long
  int turns = 5;                  ///< and for so many runs of each contestant at least
  /// Contestants beside the first that are ready at once. Of more, so many at a time play a round
  /// with the first.
  int together = std::numeric_limits<int>::max();
  uint64_t seed = 1;  ///< of the orders
  StopToken stop;     ///< once requested no further round begins; the result proves nothing
  /// Asked, the one that looks fastest first, before a contestant enters the final; the next takes
  /// the place of one for which it is false. Its time counts. Empty: all may.
  std::function<bool(int contestant)> admit;
  std::function<void(int rounds)> on_round;  ///< called after each, with their number so far
};

/// How one contestant did against the first.
struct ContestantResult {
  double median = 0;  ///< seconds of one run, over all turns
  MedianInterval
      ratio;  ///< of its time and the first contestant's, one sample a round of the final
  std::pair<double, double> quartiles = {1, 1};  ///< of these samples, lower and upper
  /// Otherwise `ratio` is that of the screening and has no interval: `low` is 0 and `high`
  /// infinite.
  bool finalist = false;
  /// rounding_errors (core/exec/compare.h), where somebody asked for them.
  std::optional<double> error = {};
};

struct BenchmarkResult {
  std::vector<ContestantResult> contestants;
  /// The fastest finalist whose whole interval lies below 1; otherwise 0, the first contestant.
  int winner = 0;
  /// Most nodes of a contestant that ran on the reference kernels. Beside a device, these and what
  /// is moved to and from the host for them are in the times.
  int fallbacks = 0;
};

/// Who beats contestant 0? In each turn of a round all contestants run once, in an order that is
/// drawn for the turn, so that drift meets them alike. The first turns of a round warm up and do
/// not count. The sample of a round is the ratio of the lower quartiles of their times, as what
/// interrupts a run only adds to it. Contestants that look slower leave early. The finalists'
/// ratios are measured anew: picked for being fast, they would look too fast otherwise. While their
/// intervals hold 1 and there is time, the final goes on; it looks at them only each time that its
/// rounds have doubled, as an interval that is looked at after every round would leave 1 by luck. A
/// contestant alone, or without a finalist, has nobody to beat: it runs the rounds of the
/// screening, and its ratio is 1, of no samples.
BenchmarkResult run_paired_benchmark(int contestants, const NewRound& new_round,
                                     const BenchmarkOptions& options = {});

}  // namespace reverie
