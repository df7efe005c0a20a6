#pragma once

#include <vector>

#include "env/placement/machine/model_on_devices.h"

namespace reverie {

/// The largest share of a run's time that it lost to other processes.
double lost_share(const placement::RunTime& run);
/// Of an undisturbed run that is less.
inline constexpr double kUndisturbed = 0.01;
bool is_undisturbed(const placement::RunTime& run);

/// The median of the undisturbed runs or, without any, the one that lost least. At least one run.
Picoseconds undisturbed_makespan(const std::vector<placement::RunTime>& runs);

/// Runs a schedule until three runs were undisturbed, at most nine times: `undisturbed_makespan`.
Picoseconds measured_makespan(ModelOnDevices& model, const OrderByDevice& order);

}  // namespace reverie
