#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/stop.h"
#include "core/cost/timing.h"

namespace reverie {

/// One sitting of a contest: contestants made ready anew, so that where their memory happens to lie
/// is drawn anew too. That shifts a run by a percent or more, and does so for the whole sitting:
/// however long one sitting lasts, its interval is too narrow.
class Sitting {
 public:
  virtual ~Sitting() = default;
  /// Seconds of one run of a contestant that takes part.
  virtual double run(int contestant) = 0;
  /// Its nodes that run on the reference kernels.
  virtual int fallbacks(int) const { return 0; }
};

/// Makes the contestants of a sitting ready, in that order.
using NewSitting = std::function<std::unique_ptr<Sitting>(std::span<const int> contestants)>;

struct ContestOptions {
  int screening = 2;             ///< sittings after which the slower half leaves
  int finalists = 2;             ///< that meet the first contestant in fresh sittings
  int min_sittings = 9;          ///< of the final
  int max_sittings = 25;
  double target_spread = 0.005;  ///< the final ends once each ratio's interval is that narrow
  /// Of runs, what goes on around them and making ready, after which no sitting begins; the final has 6 all the same.
  double max_seconds = 60;
  double sitting_seconds = 0.2;  ///< a sitting goes on for so long
  int rounds = 5;                ///< and for so many runs of each contestant at least
  uint64_t seed = 1;             ///< of the orders
  StopToken stop;                ///< once requested no further sitting begins; the result proves nothing
  std::function<void(int sittings)> on_sitting;  ///< called after each, with their number so far
};

/// How one contestant did against the first.
struct Standing {
  double median = 0;     ///< seconds of one run, over all rounds
  MedianInterval ratio;  ///< of its time and the first contestant's, one sample a sitting of the final
  std::pair<double, double> quartiles = {1, 1};  ///< of these samples, lower and upper
  bool finalist = false; ///< otherwise `ratio` is that of the screening, and no proof of anything
};

struct ContestResult {
  std::vector<Standing> standings;
  /// The fastest finalist whose whole interval lies below 1; otherwise 0, the first contestant.
  int winner = 0;
  /// Most nodes of a contestant that ran on the reference kernels. Beside a device, these and what is moved to and
  /// from the host for them are in the times.
  int fallbacks = 0;
};

/// Who beats contestant 0? All take turns in an order drawn for each round, so that drift meets them
/// alike; a sitting's sample is the ratio of the lower quartiles of their times, as what interrupts a
/// run only adds to it. Those that look slower leave early; the finalists' ratios are measured anew:
/// picked for being fast, they would look too fast otherwise. Rounds that begin a sitting warm up and
/// do not count. A contestant alone has nobody to beat: it sits as often as in the screening, its ratio is 1, of no
/// sittings.
ContestResult hold_contest(int contestants, const NewSitting& new_sitting,
                           const ContestOptions& options = {});

}  // namespace reverie
