#pragma once

#include <memory>
#include <utility>

#include "core/search/problem.h"
#include "env/placement/simulator/ordered_placement.h"
#include "env/placement/simulator/placement_cost.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// A state of PlacementProblem: it runs in order.
struct PlacementSnapshot : Snapshot {
  explicit PlacementSnapshot(Placement one) : placement(std::move(one)) {}
  Placement placement;
};

/// Improving a placement, for the searches of core/search: a state is an OrderedPlacement, moves
/// are PlacementMoves, and costs are those of PlacementCost.
class PlacementProblem : public Problem {
 public:
  /// Graph and topology must outlive it. InputError as Simulator.
  PlacementProblem(const CostGraph& graph, const Topology& topology, const Placement& start,
                   PlacementObjective objective = PlacementObjective::kMakespan);

  /// The priorities can be run in order.
  const Placement& placement() const { return state_.placement(); }
  const Outcome& outcome() const { return outcome_; }

  std::unique_ptr<Problem> copy() const override;
  double cost() const override { return cost_.of(outcome_); }
  double lower_bound() const override { return bound_; }
  bool feasible() const override { return outcome_.feasible(); }
  bool may_be_infeasible() const override { return has_limits_; }
  int kinds() const override { return OrderedPlacement::kKinds; }
  int moves(int kind) const override { return state_.moves(kind); }
  double change(const Move& move) const override;
  bool allows(const Move& move) const override { return state_.allows({move.kind, move.index}); }
  bool apply(const Move& move) override;
  uint64_t hash() const override;
  std::shared_ptr<const Snapshot> snapshot() const override;
  bool is(const Snapshot& snapshot) const override;

 private:
  mutable Simulator simulator_;
  PlacementCost cost_;
  OrderedPlacement state_;
  Outcome outcome_;
  bool has_limits_ = false;
  double bound_ = 0;
  mutable OrderedPlacement tried_;  // to simulate a move
};

}  // namespace reverie
