#pragma once

#include <unordered_map>
#include <vector>

#include "core/ir/structural_hash.h"
#include "core/rules/rewrite_state.h"

namespace reverie {

/// States that were reached before, however. A hit of the hash is confirmed by comparing graphs.
class KnownStates {
 public:
  /// Whether the state is new; remembers it.
  bool add(const RewriteState& state) {
    std::vector<Graph>& known = graphs_[state.hash()];
    for (const Graph& graph : known)
      if (isomorphic(graph, state.graph())) return false;
    known.push_back(state.graph());
    return true;
  }

 private:
  std::unordered_map<uint64_t, std::vector<Graph>> graphs_;
};

}  // namespace reverie
