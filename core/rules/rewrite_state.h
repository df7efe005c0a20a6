#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/ir/graph.h"
#include "core/rules/rule.h"

namespace reverie {

/// A graph under rewriting: the graph, all matches of a rule set, its cost and its hash, each kept
/// up to date by difference. Copies are independent (search nodes); `commit` works in place.
class RewriteState {
 public:
  RewriteState(Graph graph, std::shared_ptr<const RuleSet> rules, std::shared_ptr<CostModel> cost);

  const Graph& graph() const;
  const RuleSet& rules() const;
  CostModel& cost_model() const;
  /// Equals graph_cost(cost_model(), graph()) exactly.
  const Cost& cost() const;
  /// Equals StructuralHash(graph()).value().
  uint64_t hash() const;

  /// Matches of a rule in canonical order: topological position of the root of the match (the
  /// producer of the first mapped output), ties by the positions of the other matched nodes. Never
  /// by id. Only matches whose conditions hold and whose replacement is well-typed and acyclic.
  /// The reference is valid until the next commit.
  const std::vector<Match>& locations(int rule) const;

  /// Pure and small: what leaves, what comes, the difference in cost, bytes of weights and hash.
  Rewrite propose(const Match& match) const;
  /// Builds the successor in place and brings matches, cost and hash up to date.
  void commit(const Rewrite& rewrite);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // replaced by the implementer of this file as fits
};

}  // namespace reverie
