#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/ir/graph.h"
#include "core/rules/rule.h"

namespace reverie {

/// A graph under rewriting: the graph, all matches of a rule set, its cost and its hash, each kept
/// up to date by difference. A copy is cheap: what both hold is shared until one of them commits.
/// `commit` works in place where nothing is shared. Copies may be used by different threads; one
/// object is for one thread.
class RewriteState {
 public:
  /// Nodes that no output depends on are left out, graph inputs excepted.
  RewriteState(Graph graph, std::shared_ptr<const RuleSet> rules, std::shared_ptr<CostModel> cost);

  const Graph& graph() const;
  const RuleSet& rules() const;
  CostModel& cost_model() const;
  /// Equals graph_cost(cost_model(), graph()) exactly.
  const Cost& cost() const;
  /// Equals StructuralHash(graph()).value(). Brought up to date when asked for.
  uint64_t hash() const;

  /// Matches of a rule in canonical order: topological position of the root of the match (the
  /// producer of the first mapped output), ties by the positions of the other matched nodes. Never
  /// by id. Only matches whose conditions hold and whose replacement is well-typed and acyclic.
  /// The reference is valid until the next commit. The order is computed when asked for.
  const std::vector<Match>& locations(int rule) const;
  /// locations(rule).size(), without the work of putting them in order.
  int location_count(int rule) const;

  /// Difference in cost of taking the match; propose(match).cost_delta, kept per match.
  Cost cost_delta(const Match& match) const;
  /// Pure and small: what comes, the difference in cost and in bytes of weights.
  Rewrite propose(const Match& match) const;
  /// hash() of the state that committing `rewrite` leads to. Work in proportion to the change.
  uint64_t hash_after(const Rewrite& rewrite) const;
  /// Builds the successor in place and brings matches, cost and hash up to date.
  void commit(const Rewrite& rewrite);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace reverie
