#pragma once

#include <string>

#include "env/placement/search/place.h"

namespace reverie {

/// A page that needs no other file: what won, all methods, the Gantt chart and the memory.
std::string place_report_html(const CostGraph& graph, const Topology& topology,
                              const PlaceResult& result);

/// Writes placement.json, gantt.svg, memory.svg, trace.json, graph.dot and report.html into a
/// folder, which is made where it is not there. InputError as write_file.
void write_place_outputs(const std::string& folder, const CostGraph& graph,
                         const Topology& topology, const PlaceResult& result);

}  // namespace reverie
