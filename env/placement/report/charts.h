#pragma once

#include <string>
#include <vector>

#include "core/report/svg.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

// Charts of a timeline . There is nothing to draw where the timeline has no run.

/// Devices over time: a lane for what each runs, coloured by the seven types of operators that take
/// most of the time, and one for what it sends. At most some 4,000 rectangles: what is too short to
/// be seen is drawn together with its neighbours, as pale as there are gaps. `bound`: no makespan
/// is below it; a dashed line shows it.
Chart gantt_chart(const CostGraph& graph, const Topology& topology, const Timeline& timeline,
                  Picoseconds bound);

/// Bytes of each device over time, and a dashed line for each limit. A limit that is more than four
/// times the largest peak stands in the legend alone.
Chart memory_chart(const CostGraph& graph, const Topology& topology, const Timeline& timeline);

/// Memory of one device, thinned out: of the steps within one interval of time the highest and the
/// last are left, in time. An interval of 0 is a single time; time 0 has an interval of its own,
/// and a step also where nothing is stored yet.
std::vector<Timeline::MemoryStep> memory_curve(const Timeline& timeline, int device,
                                               Picoseconds interval);

/// The end of the last run or transfer.
Picoseconds end_of(const Timeline& timeline);

}  // namespace reverie
