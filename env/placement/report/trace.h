#pragma once

#include <string>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// A timeline for ui.perfetto.dev and chrome://tracing, as JSON of the Trace Event Format (Google,
/// "Trace Event Format"): each device is a process with a thread for its operators and one for each
/// device that it sends to (more where transfers to it overlap), a complete event (X) for each run
/// and transfer, and a counter (C) of the bytes in use. Times are in microseconds. An event stands
/// on each line.
std::string perfetto_trace(const CostGraph& graph, const Topology& topology,
                           const Timeline& timeline);

}  // namespace reverie
