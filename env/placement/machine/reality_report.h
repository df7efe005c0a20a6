#pragma once

#include <string>

#include "core/base/json.h"
#include "env/placement/machine/reality_check.h"

namespace reverie {

/// Two sentences with the figures of both simulations.
std::string reality_text(const RealityCheck& check);

/// The number of placements and of "disturbed" ones, and for each simulation "spearman",
/// "mean_error" and "ratio" (Match).
Json reality_json(const RealityCheck& check);

/// Writes measured.html, a page with a chart and a table of all placements, and measured.json,
/// their makespans in ms, into a folder, which is made where it is not there. InputError as
/// write_file.
void write_reality_outputs(const std::string& folder, const CostGraph& graph,
                           const Topology& topology, const RealityCheck& check);

}  // namespace reverie
