#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

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
  Cost cost_delta;
  int32_t place = -1;  ///< in the list of its rule
  /// Equal for matches on the same nodes, whatever the order.
  uint64_t node_set = 0;
};

/// The matches in a graph, by rule and by matched node.
class MatchStore {
 public:
  explicit MatchStore(int rules)
      : by_rule_(static_cast<size_t>(rules)),
        node_sets_(static_cast<size_t>(rules)),
        risky_(static_cast<size_t>(rules), 0) {}

  void add(StoredMatch match);
  void remove(int32_t slot);
  StoredMatch& operator[](int32_t slot) { return matches_[static_cast<size_t>(slot)]; }
  const StoredMatch& operator[](int32_t slot) const { return matches_[static_cast<size_t>(slot)]; }
  int32_t capacity() const { return static_cast<int32_t>(matches_.size()); }

  const std::vector<int32_t>& of_rule(int rule) const {
    return by_rule_[static_cast<size_t>(rule)];
  }
  /// How many sets of nodes the matches of a rule stand on.
  int node_sets(int rule) const {
    return static_cast<int>(node_sets_[static_cast<size_t>(rule)].size());
  }
  int risky(int rule) const { return risky_[static_cast<size_t>(rule)]; }
  /// Matches that the node is part of.
  std::span<const int32_t> of_node(NodeId node) const {
    if (static_cast<size_t>(node.index) >= by_node_.size()) return {};
    return by_node_[static_cast<size_t>(node.index)];
  }

 private:
  std::vector<StoredMatch> matches_;
  std::vector<int32_t> free_;
  std::vector<std::vector<int32_t>> by_rule_;
  std::vector<std::vector<int32_t>> by_node_;
  std::vector<std::unordered_map<uint64_t, int>> node_sets_;  // by rule; matches on each
  std::vector<int> risky_;                                    // by rule
};

}  // namespace reverie
