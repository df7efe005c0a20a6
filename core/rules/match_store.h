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
};

/// The matches in a graph, by matched node. Copies share what they have in common.
class MatchStore {
 public:
  explicit MatchStore(int rules) { risky_.extend(static_cast<size_t>(rules)); }

  /// The slot that it was given.
  int32_t add(StoredMatch match);
  void remove(int32_t slot);
  const StoredMatch& operator[](int32_t slot) const { return matches_[static_cast<size_t>(slot)]; }
  /// For writing what is neither rule nor binding.
  StoredMatch& edit(int32_t slot) { return matches_.edit(static_cast<size_t>(slot)); }
  int32_t capacity() const { return static_cast<int32_t>(matches_.size()); }

  /// Matches of a rule for which a cycle is possible.
  int risky(int rule) const { return risky_[static_cast<size_t>(rule)]; }
  /// Matches that the node is part of.
  std::span<const int32_t> of_node(NodeId node) const {
    if (static_cast<size_t>(node.index) >= by_node_.size()) return {};
    return by_node_[static_cast<size_t>(node.index)];
  }

 private:
  SharedVector<StoredMatch> matches_;
  int32_t first_free_ = -1;
  SharedVector<int> risky_;  // by rule
  SharedVector<SmallList<int32_t, 4>> by_node_;
};

}  // namespace reverie
