#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Nodes that stay together: those of one colocation group, and each free node. In the order of
/// their first nodes; a node's entity is what an environment or a search moves.
class PlacementEntities {
 public:
  explicit PlacementEntities(const CostGraph& graph);

  int size() const { return static_cast<int>(nodes_.size()); }
  const std::vector<int>& nodes(int entity) const { return nodes_[static_cast<size_t>(entity)]; }
  int of(int node) const { return of_node_[static_cast<size_t>(node)]; }
  /// Each node's device, from each entity's.
  std::vector<int> spread(const std::vector<int>& devices) const;

 private:
  std::vector<std::vector<int>> nodes_;
  std::vector<int> of_node_;
};

/// All nodes, each after those that it reads of; of those that could come, the one of the highest
/// priority, then of the lowest number. `priority`: by node; empty: all equal.
std::vector<int> order_by(const CostGraph& graph, const std::vector<int64_t>& priority);

/// A change of an OrderedPlacement. Kind 0 puts entity `index` / (devices - 1) on another device:
/// on that of number `index` % (devices - 1) among the others. Kind 1 lets the node at place
/// `index` of the order, and what it waits for, run before the one that precedes it on its device.
/// Where the placement has kernels, kind 2 takes the reader of edge `index`
/// (OrderedPlacement::edges) out of the kernel of its producer, or into it, and kind 3 puts the
/// kernel whose first node is `index` / (devices - 1), and all groups in it, on another device.
struct PlacementMove {
  int kind = 0;
  int index = 0;
};

/// A placement that runs in order (Dispatch::kInOrder) and never waits for itself, and the ways to
/// change it a little.
class OrderedPlacement {
 public:
  static constexpr int kKinds = 4;

  /// Of nodes of one group the first's device counts, and priorities are followed as far as the
  /// graph allows, and kernels stay. `start` must fit graph and number of devices; the graph must
  /// outlive it.
  OrderedPlacement(const CostGraph& graph, int devices, const Placement& start);

  const Placement& placement() const { return placement_; }
  /// All nodes, each after those that it reads of.
  const std::vector<int>& order() const { return order_; }
  const PlacementEntities& entities() const { return *entities_; }
  /// A producer and a reader each; empty without kernels.
  const std::vector<std::pair<int, int>>& edges() const { return *edges_; }
  int moves(int kind) const;
  bool allows(const PlacementMove& move) const;
  /// False, and no change, where the node at this place has none before it on its device, or waits
  /// for that one, and where no kernel of several nodes has this first node.
  bool apply(const PlacementMove& move);

 private:
  bool move_earlier(int place);
  void move_entity(int entity, int to);
  int other_device(int node, int number) const;
  void join_or_leave(int edge);
  std::vector<int> kernel_led_by(int node) const;
  /// Of the nodes from `first` to `place`, in their order, the one at `place` and those that it
  /// waits for. Empty where the one at `first` is among them.
  std::vector<int> run_first(int first, int place) const;
  /// The place in the order of the node that precedes the one at `place` on its device; -1: none.
  int earlier_place(int place) const;

  const CostGraph* graph_;
  int devices_;
  std::shared_ptr<const PlacementEntities> entities_;
  std::shared_ptr<const std::vector<std::pair<int, int>>> edges_;
  Placement placement_;
  std::vector<int> order_;
};

}  // namespace reverie
