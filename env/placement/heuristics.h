#pragma once

#include <cstdint>
#include <vector>

#include "env/placement/simulator.h"

namespace reverie {

// Classical ways to place a graph in one pass. Each plans a schedule without contention, in which a
// device runs one node at a time, and returns its devices, with priorities in the order of its
// starts: `Simulator::run` in order repeats it exactly where nothing is contended.
//
// A colocation group goes where its first node goes. Of memory only persistent bytes count: a
// device that has too little for a node, or for all of its group, is left out while another one has
// enough. A plan that does not fit is returned all the same, as no error.

/// All nodes on one device.
Placement on_one_device(const Simulator& simulator, int device);

/// By node the longest path from it on, with mean costs of the devices and without transfers: the
/// usual priorities of list scheduling (Graham's and HLFET's).
std::vector<int64_t> path_priorities(const Simulator& simulator);

/// HEFT (Topcuoglu, Hariri and Wu 2002): nodes by the longest path from them on, with mean costs of
/// the devices and mean transfers between two different ones; each to the device on which it ends
/// first, also in a gap that is large enough.
Placement heft(const Simulator& simulator);

/// ETF (Hwang, Chow, Anger and Lee 1989): of all ready nodes and devices the pair that can start
/// first; of several, the node with the longest path of mean costs from it on.
Placement etf(const Simulator& simulator);

/// m-TOPO (Jeon et al. 2020, Baechi): fills one device after the other in topological order, each
/// up to an even share of all bytes and the largest node's. Bytes of a node: persistent, temporary
/// and of its outputs.
Placement m_topo(const Simulator& simulator);

}  // namespace reverie
