#pragma once

#include <set>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/pattern.h"

namespace reverie {

/// What of an example's graph stands for what of the rule.
struct ExampleParts {
  std::vector<NodeId> nodes;  ///< by source operator
  /// Identities of the weights whose content was drawn.
  std::set<uint64_t> drawn;
};

/// A graph in which the source pattern of a rule stands: a graph input (or, where the example says
/// so, a constant) per variable, the source operators, and a graph output per mapped output and per
/// value that nothing uses. Small filled constants hold their value, others are drawn from `seed`.
/// InputError names what the example lacks.
Graph build_example(const RulePattern& pattern, const RuleExample& example, uint64_t seed,
                    ExampleParts* parts = nullptr);

}  // namespace reverie
