#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/ir/graph.h"

namespace reverie {

/// Names of the neighbourhoods of nodes: everything within kRadius edges, in either direction, by
/// operator, attributes, output types, constancy and the value of small constants; large weights
/// and graph inputs have no identity. By colour refinement (Weisfeiler and Leman 1968). Users are
/// not looked at beyond a constant or a value with more than kMostUsers uses, so that the work
/// after a change does not grow with the graph.
class Neighbourhoods {
 public:
  static constexpr int kRadius = 2;
  static constexpr int kMostUsers = 16;

  /// Of no graph yet: the first update is for all nodes.
  Neighbourhoods() = default;
  /// `changed`: nodes that were added, or whose inputs or uses changed; may hold duplicates and
  /// erased nodes. Gives the nodes whose name changed.
  std::vector<NodeId> update(const Graph& graph, std::span<const NodeId> changed);
  uint64_t of(NodeId node) const { return colour(node, kRadius); }

 private:
  using Colours = std::array<uint64_t, kRadius + 1>;
  uint64_t colour(NodeId node, int level) const {
    return colours_[static_cast<size_t>(node.index)][static_cast<size_t>(level)];
  }
  uint64_t own_colour(const Graph& graph, NodeId node) const;
  uint64_t next_colour(const Graph& graph, NodeId node, int level) const;

  SharedVector<Colours> colours_;
};

}  // namespace reverie
