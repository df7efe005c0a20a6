#pragma once

#include <span>
#include <string>
#include <vector>

#include "env/rewrite/search/search.h"

namespace reverie {

/// A rewrite of a path as a person finds it in the model.
struct AppliedRewrite {
  int rule = 0;
  /// Operators that left and that came. What is computed from constants alone counts for neither.
  std::vector<std::string> before, after;
  /// The nodes that left, by their names in the file; a node that an earlier rewrite brought by
  /// that of the node that it came of. Those without a name are left out.
  std::vector<std::string> nodes;
  Picoseconds saved;  ///< by the costs; negative where it costs more
};

/// The rewrites of a path, which must exist, in its order. Costs are looked up of what left and
/// came alone.
std::vector<AppliedRewrite> applied_rewrites(const Graph& start, const RuleSet& rules,
                                             CostModel& cost, std::span<const RewriteStep> path);

}  // namespace reverie
