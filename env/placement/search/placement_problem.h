#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "core/search/problem.h"
#include "env/placement/simulator/evaluator.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {

/// A state of PlacementProblem: it runs in order.
struct PlacementSnapshot : Snapshot {
  explicit PlacementSnapshot(Placement one) : placement(std::move(one)) {}
  Placement placement;
};

/// Improving a placement, for the searches of core/search: a state is an OrderedPlacement, moves
/// are PlacementMoves, and an evaluator judges each state that is reached and each move that is
/// looked at. Copies share it, so that they are for one thread.
class PlacementProblem : public Problem {
 public:
  /// InputError as Evaluator::evaluate.
  PlacementProblem(std::shared_ptr<Evaluator> evaluator, const Placement& start);

  const Evaluator& evaluator() const { return *evaluator_; }

  /// The priorities can be run in order.
  const Placement& placement() const { return state_.placement(); }
  const Outcome& outcome() const { return outcome_; }

  std::unique_ptr<Problem> copy() const override;
  double cost() const override { return evaluator_->cost(outcome_); }
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
  std::shared_ptr<Evaluator> evaluator_;
  OrderedPlacement state_;
  Outcome outcome_;
  bool has_limits_ = false;
  double bound_ = 0;
  // The move that was judged last, and what it leads to.
  mutable OrderedPlacement tried_;
  mutable std::optional<Move> tried_move_;
  mutable Outcome tried_outcome_;
};

}  // namespace reverie
