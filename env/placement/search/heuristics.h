#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "env/placement/search/plan.h"
#include "env/placement/simulator/evaluator.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

// Classical ways to place a graph in one pass. Each plans a schedule without contention, in which a
// device runs one node at a time, and returns its devices, with priorities in the order of its
// starts: `Simulator::run` in order repeats it exactly where nothing is contended.
//
// A colocation group goes where its first node goes. Of memory only persistent bytes count: a
// device that has too little for a node, or for all of its group, is left out while another one has
// enough. A share `reserve` of each device's memory is kept for outputs and temporaries. A plan
// that does not fit is returned all the same, as no error.

/// Reserves to try one after the other until a plan fits.
inline constexpr double kReserves[] = {0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

/// Plans with one reserve after the other until what the heuristic gives fits, or the evaluator is
/// spent.
void plan(Evaluator& evaluator, const std::function<Placement(double reserve)>& heuristic);

/// All nodes on one device.
Placement on_one_device(const Simulator& simulator, int device);
/// On one device after the other.
void each_device(Evaluator& evaluator);

/// By node the longest path from it on, with mean costs of the devices and without transfers: the
/// usual priorities of list scheduling (Graham's and HLFET's).
std::vector<int64_t> path_priorities(const Simulator& simulator);
/// These as priorities of greedy_fusion.
std::vector<double> path_fusion(const Simulator& simulator);
/// By node: 0 for the shortest of these paths, and so on; of equal ones the lower number first.
std::vector<int64_t> path_ranks(const Simulator& simulator);

/// HEFT (Topcuoglu, Hariri and Wu 2002): nodes by the longest path from them on, with mean costs of
/// the devices and mean transfers between two different ones; each to the device on which it ends
/// first, also in a gap that is large enough. `transfers`: whether it plans for contention.
Placement heft(const Simulator& simulator, double reserve, Plan::Transfers transfers);
inline Placement heft(const Simulator& simulator, double reserve = 0) {
  return heft(simulator, reserve, Plan::Transfers::kFree);
}

/// ETF (Hwang, Chow, Anger and Lee 1989): of all ready nodes and devices the pair that can start
/// first; of several, the node with the longest path of mean costs from it on. With groups and
/// memory as said above this is m-ETF of Jeon et al. 2020 (Baechi).
Placement etf(const Simulator& simulator, double reserve = 0);

/// m-TOPO (Jeon et al. 2020, Baechi): fills one device after the other in topological order, each
/// up to an even share of all bytes and the largest node's. Bytes of a node: persistent, temporary
/// and of its outputs.
Placement m_topo(const Simulator& simulator, double reserve = 0);

}  // namespace reverie
