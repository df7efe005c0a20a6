#pragma once

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ir/structural_hash.h"
#include "core/rules/rewrite_state.h"

namespace reverie {

/// States that were reached before, however. A hit of the hash is confirmed by comparing graphs; of
/// more than `graphs` states the earlier ones are known by their hashes alone.
class KnownStates {
 public:
  explicit KnownStates(int64_t graphs = std::numeric_limits<int64_t>::max()) : most_(graphs) {}

  bool contains(const RewriteState& state) const {
    if (earlier_.contains(state.hash())) return true;
    const auto known = graphs_.find(state.hash());
    return known != graphs_.end() &&
           std::any_of(known->second.begin(), known->second.end(), [&](const Graph& graph) {
             return isomorphic(graph, state.graph());
           });
  }
  /// Whether the state is new; remembers it.
  bool add(const RewriteState& state) {
    if (contains(state)) return false;
    if (held_ == most_) {
      for (const auto& [hash, graphs] : graphs_) earlier_.insert(hash);
      graphs_.clear();
      held_ = 0;
    }
    graphs_[state.hash()].push_back(state.graph());
    ++held_;
    return true;
  }
  /// Graphs in memory.
  int64_t held() const { return held_; }

 private:
  int64_t most_;
  int64_t held_ = 0;
  std::unordered_map<uint64_t, std::vector<Graph>> graphs_;  // by hash
  std::unordered_set<uint64_t> earlier_;
};

}  // namespace reverie
