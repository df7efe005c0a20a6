#pragma once

#include <cstdint>
#include <memory>
#include <span>
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
};

/// The matches in a graph, by rule and by matched node.
class MatchStore {
 public:
  explicit MatchStore(int rules) : by_rule_(static_cast<size_t>(rules)) {}

  void add(StoredMatch match);
  void remove(int32_t slot);
  StoredMatch& operator[](int32_t slot) { return matches_[static_cast<size_t>(slot)]; }
  const StoredMatch& operator[](int32_t slot) const { return matches_[static_cast<size_t>(slot)]; }
  int32_t capacity() const { return static_cast<int32_t>(matches_.size()); }

  const std::vector<int32_t>& of_rule(int rule) const {
    return by_rule_[static_cast<size_t>(rule)];
  }
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
};

}  // namespace reverie
