#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/base/small_list.h"
#include "core/cost/cost_model.h"
#include "core/rules/instance.h"
#include "core/rules/rule.h"

namespace reverie {

struct StoredMatch {
  int rule = -1;  ///< -1: the slot is free
  NodeId root;
  std::shared_ptr<const Binding> binding;
  std::shared_ptr<const Instance> instance;
  /// A cycle is possible: what the replacement reads has to be looked at.
  bool risky = false;
  bool cost_known = false;
  int32_t next_free = -1;  ///< of a free slot
  Cost cost_delta;
  /// It stands for its node set in the list of its rule.
  bool listed = false;
  /// Equal for matches on the same nodes, whatever the order.
  uint64_t node_set = 0;
  /// Names the neighbourhoods of the nodes; 0: not known.
  uint64_t neighbourhood = 0;
  /// There is, or was, another match of the rule on the same nodes in the same order: which of them
  /// comes first depends on where their values come from.
  bool has_twin = false;
  /// Nodes beyond the matched ones that the cost or the place of the match depends on.
  SmallList<NodeId, 2> watched;
};

/// The matches in a graph, by matched node and by watched node. Copies share what they have in
/// common.
class MatchStore {
 public:
  explicit MatchStore(int rules) { risky_.extend(static_cast<size_t>(rules)); }

  /// The slot that it was given.
  int32_t add(StoredMatch match);
  void remove(int32_t slot);
  const StoredMatch& operator[](int32_t slot) const { return matches_[static_cast<size_t>(slot)]; }
  /// For writing what is neither rule nor binding.
  StoredMatch& edit(int32_t slot) { return matches_.edit(static_cast<size_t>(slot)); }
  /// The match depends on those nodes, too; those of them that it watches already may be among
  /// them.
  void watch(int32_t slot, std::span<const NodeId> nodes);
  int32_t capacity() const { return static_cast<int32_t>(matches_.size()); }

  /// Matches of a rule for which a cycle is possible.
  int risky(int rule) const { return risky_[static_cast<size_t>(rule)]; }
  /// Matches that the node is part of.
  std::span<const int32_t> of_node(NodeId node) const { return at(by_node_, node); }
  /// Matches that watch the node.
  std::span<const int32_t> watching(NodeId node) const { return at(by_watched_, node); }

 private:
  using ByNode = SharedVector<SmallList<int32_t, 4>>;
  static std::span<const int32_t> at(const ByNode& slots, NodeId node) {
    if (static_cast<size_t>(node.index) >= slots.size()) return {};
    return slots[static_cast<size_t>(node.index)];
  }
  static void add_to(ByNode& slots, NodeId node, int32_t slot);

  SharedVector<StoredMatch> matches_;
  int32_t first_free_ = -1;
  SharedVector<int> risky_;  // by rule
  ByNode by_node_;
  ByNode by_watched_;
};

}  // namespace reverie
