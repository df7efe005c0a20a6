#pragma once

#include <vector>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Above this number of nodes favourite_children refuses.
inline constexpr int kMostNodesForFavourites = 3000;

/// By node the reader that should follow it on its device; -1: none. No two nodes have the same.
/// From the linear program of Hanen and Munier (SCT, Discrete Applied Mathematics 108, 2001), which
/// minimises the makespan on unlimited devices: x of an edge is 0 where its ends share a device, at
/// most one edge out of a node and one into it may be so, and values below one half are taken for
/// 0. Costs and transfers are means over the devices. InputError for a graph that is too large.
/// Only where CBC is, which brings the solver of linear programs.
std::vector<int> favourite_children(const Simulator& simulator);

/// m-SCT (Jeon et al. 2020, Baechi): ETF (heuristics.h), but a device waits for the favourite of
/// its last node while this would arrive elsewhere later, unless the other node has waited so long
/// that its inputs could be on any device. Their grouping before it is grouped() (grouping.h), and
/// left to the caller.
Placement m_sct(const Simulator& simulator, const std::vector<int>& favourites, double reserve = 0);

}  // namespace reverie
