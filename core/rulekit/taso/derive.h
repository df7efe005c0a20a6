#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/rule.h"

namespace reverie::taso {

/// A library rule taken at a location of the graph at hand.
struct DerivationStep {
  /// What is used more than once is computed as often: no rule of a library, and always sound.
  static constexpr const char* kUnshare = "unshare";
  std::string rule;
  int location = 0;  ///< in the order of RewriteState::locations
  /// The operators that it replaces.
  std::vector<std::string> operators;
  /// Taken from the later graph to the earlier one.
  bool backward = false;
};

struct DerivationLimits {
  int steps = 8;       ///< longest chain
  int states = 20000;  ///< graphs visited, both ends together
  int more_nodes = 4;  ///< that a graph on the way may have beyond the larger end
};

struct Derivation {
  /// From the source to the target; nothing where none was found.
  std::optional<std::vector<DerivationStep>> chain;
  int states = 0;  ///< graphs visited
};

/// Equal for graphs that compute their outputs by the same expressions: same operators, attributes,
/// inputs and constants, up to the order of the operands of Add and Mul and to what is computed
/// twice.
std::string expression_of(const Graph& graph);

/// A chain of rules that turns `source` into a graph with the expression of `target`, found from
/// both ends, breadth first, so that none is shorter; without a chain where there is none within
/// the limits.
Derivation derive(const Graph& source, const Graph& target,
                  const std::shared_ptr<const RuleSet>& library,
                  const DerivationLimits& limits = {});

/// Whether the rules of the chain, in its order and its directions, lead from `source` to `target`
/// at some locations; for another assignment of shapes than the one on which the chain was found.
bool confirms(const std::vector<DerivationStep>& chain, const Graph& source, const Graph& target,
              const RuleSet& library);

}  // namespace reverie::taso
