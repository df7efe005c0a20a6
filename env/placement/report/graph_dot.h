#pragma once

#include <string>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// A graph in Graphviz' DOT: a node's colour is that of its device (of more than eight, colours
/// repeat; labels name the device), an edge says its bytes and is bold between devices. A
/// graph of more than 400 nodes asks for the layout of sfdp.
std::string placement_dot(const CostGraph& graph, const Topology& topology,
                          const Placement& placement);

}  // namespace reverie
