#pragma once

#include <string>

#include "env/placement/graph/placement_input.h"
#include "env/placement/search/place.h"

namespace reverie {

/// A page that needs no other file: what won, all methods, the Gantt chart and the memory.
std::string place_report_html(const CostGraph& graph, const Topology& topology,
                              const PlaceResult& result);

/// Writes placement.json, gantt.svg, memory.svg, trace.json, graph.dot and report.html into a
/// folder, which is made where it is not there. InputError as write_file.
void write_place_outputs(const std::string& folder, const CostGraph& graph,
                         const Topology& topology, const PlaceResult& result);

/// Writes the model at `from`, which was read from there and placed, with the device of each node
/// under kDeviceNote (core/onnx/note_keys.h), as copy_model does. InputError where what was placed
/// is no model.
void write_placed_model(const std::string& from, const PlacementInput& read,
                        const Topology& topology, const PlaceResult& result, const std::string& to);

}  // namespace reverie
