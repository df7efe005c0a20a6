#include "env/placement/machine/undisturbed.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/statistics.h"

namespace reverie {

double lost_share(const placement::RunTime& run) { return run.lost / run.makespan; }

bool is_undisturbed(const placement::RunTime& run) { return lost_share(run) < kUndisturbed; }

Picoseconds undisturbed_makespan(const std::vector<placement::RunTime>& runs) {
  REVERIE_CHECK(!runs.empty());
  std::vector<double> makespans;
  for (const placement::RunTime& run : runs)
    if (is_undisturbed(run)) makespans.push_back(run.makespan);
  if (makespans.empty()) makespans = {std::ranges::min(runs, {}, lost_share).makespan};
  return Picoseconds::from_seconds(median(makespans));
}

Picoseconds measured_makespan(ModelOnDevices& model, const OrderByDevice& order) {
  constexpr int kEnough = 3, kMost = 9;
  std::vector<placement::RunTime> runs;
  while (std::ssize(runs) < kMost && std::ranges::count_if(runs, is_undisturbed) < kEnough)
    runs.push_back(model.run(order));
  return undisturbed_makespan(runs);
}

}  // namespace reverie
