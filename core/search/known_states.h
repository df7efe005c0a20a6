#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/ir/structural_hash.h"
#include "core/rules/rewrite_state.h"

namespace reverie {

/// States that were reached before, however. A hit of the hash is confirmed by comparing graphs.
class KnownStates {
 public:
  bool contains(const RewriteState& state) const {
    const auto known = graphs_.find(state.hash());
    return known != graphs_.end() &&
           std::any_of(known->second.begin(), known->second.end(), [&](const Graph& graph) {
             return isomorphic(graph, state.graph());
           });
  }
  /// Whether the state is new; remembers it.
  bool add(const RewriteState& state) {
    if (contains(state)) return false;
    graphs_[state.hash()].push_back(state.graph());
    return true;
  }

 private:
  std::unordered_map<uint64_t, std::vector<Graph>> graphs_;
};

}  // namespace reverie
