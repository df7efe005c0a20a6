#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/search/problem.h"
#include "env/placement/simulator.h"

namespace reverie {

/// A state of PlacementProblem: it runs in order.
struct PlacementSnapshot : Snapshot {
  explicit PlacementSnapshot(Placement one) : placement(std::move(one)) {}
  Placement placement;
};

/// Improving a placement, for the searches of core/search: a state is a placement whose nodes run
/// in order. Its cost is the makespan in picoseconds; where memory is exceeded, more than any
/// placement takes, and the more the more bytes are missing.
///
/// Kinds of moves: 0 puts a node with its colocation group on another device; 1 lets a node, and
/// what it waits for, run before the one that precedes it on its device, unless it waits for that
/// one.
class PlacementProblem : public Problem {
 public:
  /// `start`: of nodes of one group the first's device counts, and priorities are followed as far
  /// as the graph allows. Graph and topology must outlive it. InputError as Simulator.
  PlacementProblem(const CostGraph& graph, const Topology& topology, const Placement& start);

  /// The priorities can be run in order.
  const Placement& placement() const { return placement_; }
  const Outcome& outcome() const { return outcome_; }

  std::unique_ptr<Problem> copy() const override;
  double cost() const override { return cost_of(outcome_); }
  double lower_bound() const override;
  bool feasible() const override { return outcome_.feasible(); }
  bool may_be_infeasible() const override { return shared_->has_limits; }
  int kinds() const override { return 2; }
  int moves(int kind) const override;
  double change(const Move& move) const override;
  bool allows(const Move& move) const override;
  bool apply(const Move& move) override;
  uint64_t hash() const override;
  std::shared_ptr<const Snapshot> snapshot() const override;
  bool is(const Snapshot& snapshot) const override;

 private:
  struct Shared {
    std::vector<std::vector<int>> entities;  ///< nodes that stay together
    bool has_limits = false;
    double shortest = 0, longest = 0;  ///< picoseconds: no placement takes less, or more
    double bytes = 0;                  ///< no placement needs more on all devices together
  };

  std::shared_ptr<const Shared> describe() const;
  double cost_of(const Outcome& outcome) const;
  /// Changes both; false where the move is refused, and nothing is changed.
  bool take(const Move& move, Placement& placement, std::vector<int>& order) const;
  void move_entity(int number, Placement& placement) const;
  /// Of the nodes from `first` to `place`, in their order, the one at `place` and those that it
  /// waits for. Empty where the one at `first` is among them.
  std::vector<int> run_first(int first, int place) const;
  /// The place in the order of the node that precedes the one at `place` on its device; -1: none.
  int earlier_place(int place) const;

  std::shared_ptr<const Shared> shared_;
  mutable Simulator simulator_;
  Placement placement_;
  std::vector<int> order_;  ///< all nodes, each after those that it reads of
  Outcome outcome_;
  mutable Placement tried_;  // to simulate a move
  mutable std::vector<int> tried_order_;
};

}  // namespace reverie
