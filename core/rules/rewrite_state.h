#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/ir/graph.h"
#include "core/rules/rule.h"

namespace reverie {

/// Locations of one rule that look alike: the nodes of their matches have equal neighbourhoods of
/// radius 2 (operators, attributes, shapes, constancy and the values of small constants; see
/// Neighbourhoods) and taking them changes the cost alike. A search that looks at one location of
/// each class sees all that differ by more than where they stand.
struct LocationClass {
  /// Indices into locations(rule), ascending; the first one stands for all.
  std::vector<int32_t> members;

  int32_t representative() const { return members.front(); }
  int multiplicity() const { return static_cast<int>(members.size()); }
};

/// An entry of RewriteState::locations(rule), and what taking it changes in run time.
struct RankedLocation {
  int rule = -1;
  int index = -1;
  Picoseconds change;
};

/// What a step did to the nodes of a graph, constant ones included.
struct NodesChanged {
  std::vector<NodeId> added;  ///< some may be erased again
  std::vector<NodeId> removed;
  /// Whose inputs or uses changed; may hold duplicates and what was added or removed.
  std::vector<NodeId> around;
};

/// A graph under rewriting: the graph, all matches of a rule set, its cost and its hash, each
/// brought up to date by difference. A copy is cheap: what both hold is shared until one of them
/// commits. `commit` works in place where nothing is shared. Copies may be used by different
/// threads; one object is for one thread.
class RewriteState {
 public:
  /// Nodes that no output depends on are left out, graph inputs excepted.
  RewriteState(Graph graph, std::shared_ptr<const RuleSet> rules, std::shared_ptr<CostModel> cost);

  const Graph& graph() const;
  const RuleSet& rules() const;
  CostModel& cost_model() const;
  std::shared_ptr<const RuleSet> shared_rules() const;
  std::shared_ptr<CostModel> shared_cost_model() const;
  /// Equals graph_cost(cost_model(), graph()) exactly.
  const Cost& cost() const;
  /// Equals StructuralHash(graph()).value(). Brought up to date when asked for.
  uint64_t hash() const;

  /// Matches of a rule in canonical order: topological position of the root of the match (the
  /// producer of the first mapped output), ties by the positions of the other matched nodes. Never
  /// by id. Only matches whose conditions hold and whose replacement is well-typed and acyclic.
  /// The reference is valid until the next commit. The list is made when asked for; steps that need
  /// one location or their number do without it.
  const std::vector<Match>& locations(int rule) const;
  /// locations(rule).size(), at once (except where a match could close a cycle).
  int location_count(int rule) const;
  /// locations(rule)[index], at once (except where a match could close a cycle).
  Match location(int rule, int index) const;

  /// The first of locations(rule), at most `most`. The same object, from state to state, until a
  /// match of the rule comes, goes, moves, or changes the cost by another difference.
  std::shared_ptr<const std::vector<Match>> first_locations(int rule, int most) const;

  /// The locations of a rule by class, in the order of their representatives; each location is in
  /// one class. The reference is valid until the next commit. Computed when asked for, from names
  /// of neighbourhoods that are kept from state to state.
  const std::vector<LocationClass>& classes(int rule) const;
  /// Gives the locations of all rules one after another, those first that lower the run time most,
  /// among equals in the order of rules and of locations(rule); nothing after the last one. Valid
  /// until the next commit. From the first call on the order is kept by difference, so that the
  /// first few take time that grows with the logarithm of their number (except of a rule with
  /// matches that could close a cycle).
  std::function<std::optional<RankedLocation>()> ranking() const;
  /// Index into locations(rule) of the match of that rule on the same nodes and values as `match`,
  /// which this state or one before it listed; nothing when it is no location any more.
  std::optional<int> find(const Match& match) const;

  /// Difference in cost of taking the match; propose(match).cost_delta, kept per match.
  Cost cost_delta(const Match& match) const;
  /// Pure and small: what comes, the difference in cost and in bytes of weights.
  Rewrite propose(const Match& match) const;
  /// hash() of the state that committing `rewrite` leads to. Work in proportion to the change.
  uint64_t hash_after(const Rewrite& rewrite) const;
  /// How many nodes, matches and events of the order it looked at when it last found its matches
  /// after a commit. That depends on the change and its surroundings, not on the size of the graph.
  int64_t looked_at() const;
  /// Builds the successor in place. Its matches are found, and the costs of what they would bring
  /// looked up, when they are first asked for: a state that is only looked at as a graph does
  /// without. What the cost model throws then, whatever asked throws, each time until it succeeds.
  NodesChanged commit(const Rewrite& rewrite);
  /// graph().topological_order(), from the second call on kept by difference.
  std::shared_ptr<const std::vector<NodeId>> topological_order() const;
  /// Puts nodes of the graph in the order of graph().topological_order(), which is not walked.
  void put_in_order(std::vector<NodeId>& nodes) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace reverie
