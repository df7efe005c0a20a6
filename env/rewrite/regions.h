#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/rules/rule.h"

namespace reverie {

/// Where a match lies among regions. Depends on no order of nodes but that of the regions, so that
/// which of two nodes a symmetric rule calls the first makes no difference, and a step somewhere
/// else neither.
struct MatchPlace {
  NodeId node;     ///< that makes a mapped output; of several one in the lowest region
  int region = 0;  ///< of `node`
  int reach = 0;   ///< the highest region of a node that makes a mapped output
};

/// The region that each node of a graph under rewriting lies in.
///
/// A start graph is cut along its topological order, where few values are live: the sum, over the
/// cuts, of the values (constants apart) that are made before a cut and used after it is least, and
/// of equally good cuttings the most even one is taken (dynamic programming over the positions).
/// Afterwards the nodes that a rewrite brings lie where its match lies, and all others stay where
/// they are: hence rewrites that are independent give the same regions in either order.
class Regions {
 public:
  /// Everything in one region.
  Regions() = default;
  /// At most `most_nodes` work nodes in a region and, where there are several, at least half as
  /// many; more where `most_regions` such regions do not hold the graph. A constant or an input
  /// lies with the work node that follows it. `graph` holds nothing that no output depends on,
  /// inputs apart.
  Regions(const Graph& graph, int most_nodes, int most_regions);

  int count() const { return count_; }
  int of(NodeId node) const { return count_ == 1 ? 0 : regions_[static_cast<size_t>(node.index)]; }
  /// A match of `rule` in a graph with these regions, or one that was in it before the last
  /// rewrite.
  MatchPlace place(const Rule& rule, const Match& match) const;
  /// A match that lies in `region` was taken: the nodes that `graph` has got since lie there. Work
  /// in proportion to the nodes that came.
  void extend(const Graph& graph, int region);
  /// Names the regions of all nodes, which `order` lists in topological order; depends on no id.
  uint64_t hash(std::span<const NodeId> order) const;

 private:
  int count_ = 1;
  std::vector<int32_t> regions_;  ///< by node, erased ones included
};

}  // namespace reverie
