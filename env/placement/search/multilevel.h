#pragma once

#include <vector>

#include "core/base/random.h"
#include "env/placement/simulator/evaluator.h"

namespace reverie {

/// Entities (PlacementEntities) in clusters, which are placed as one.
struct Clusters {
  std::vector<int> of;  ///< by node: a number from 0
  int count = 0;
};

Clusters entity_clusters(const CostGraph& graph);

/// Joins pairs of clusters, in random order each with the neighbour with which it exchanges most:
/// the square of the mean time of transfers over the product of their work (heavy-edge matching,
/// Karypis and Kumar 1998; the rating of Holtgrewe, Sanders and Schulz 2010). No pair does more
/// than `most` of all work. `device`: by node; only clusters on one device are joined. Empty: all
/// may be. Only devices are decided by cluster, so that no cycle can come of it.
Clusters coarser(const Simulator& simulator, const Clusters& clusters, double most,
                 const std::vector<int>& device, Rng& rng);

/// The longest path from each node on, with the transfers that these devices need; picoseconds.
std::vector<int64_t> placed_ranks(const Simulator& simulator, const std::vector<int>& device);

/// Searches for devices, from the evaluator's best placement on, until its budget, which must have
/// a limit, is used. Coarsens step by step and plans by HEFT at each level. Then it coarsens what
/// the best placement has on one device, and moves clusters, the coarsest first. All is judged on
/// the whole graph, with placed_ranks as priorities. The evaluator holds the best. Without fusion.
void multilevel(Evaluator& evaluator, Rng rng);

}  // namespace reverie
