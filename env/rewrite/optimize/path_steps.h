#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "env/rewrite/search/search.h"

namespace reverie {

/// What a rewrite of a path did to operators. What is computed from constants alone counts for
/// neither.
struct PathStep {
  const std::string& rule;
  const Graph& before;
  const Graph& after;
  std::vector<NodeId> left;  ///< in the order of `before`
  std::vector<NodeId> came;  ///< in the order of `after`
};

/// Calls `visit` for each rewrite of a path, which must exist, in its order. Returns where it
/// leads.
Graph for_each_step(const Graph& start, const RuleSet& rules, std::span<const RewriteStep> path,
                    const std::function<void(const PathStep&)>& visit);

/// Of what left, what a node that came is taken to be the successor of: by preference one of its
/// operator. Invalid where nothing left.
NodeId predecessor(const PathStep& step, NodeId came);

}  // namespace reverie
