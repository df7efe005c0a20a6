#pragma once

#include "env/placement/simulator/placement_cost.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Cuts the graph into one part a device so that little is sent between parts, by METIS (Karypis
/// and Kumar 1998); each device runs its nodes depth first, that is, what a node needs comes right
/// before it. Where the makespan counts, parts are balanced by mean costs and the speed of their
/// devices. Where peak memory counts they are of equal bytes: persistent, temporary and of outputs.
/// Sizes of cuts are mean times of transfers. Colocation groups stay whole; limits of memory are
/// not known to it. Only where METIS is.
Placement partition(const Simulator& simulator, PlacementObjective objective);

}  // namespace reverie
