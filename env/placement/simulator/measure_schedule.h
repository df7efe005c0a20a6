#pragma once

#include <functional>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Runs the graph of a timeline on real devices, each of which runs its nodes in the timeline's
/// order, and returns what that took. No two runs take the same. Several threads may call it.
using MeasureSchedule = std::function<Picoseconds(const Timeline&)>;

}  // namespace reverie
