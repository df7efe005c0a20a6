#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/search/problem.h"
#include "env/environment.h"

namespace reverie {

/// An environment as a problem for searches. The start is where the environment stands, at the
/// beginning of an episode; moves are its actions without NO-OP, and an episode that is over has
/// none. The cost is the objective, its negative where more is better. States with equal keys are
/// the same, whenever in an episode they are reached. The environment must be deterministic;
/// changes in cost are its `gains` where it looks ahead.
class EnvironmentProblem : public Problem {
 public:
  /// Whether a step may lead to the state that the environment is in.
  using Allowed = std::function<bool(const Environment&)>;

  /// Works on a copy of `start`.
  explicit EnvironmentProblem(const Environment& start, Allowed allowed = nullptr);
  EnvironmentProblem(const EnvironmentProblem& other);

  const Environment& environment() const { return *environment_; }
  /// Of this state; kept once it was asked for.
  const Observation& observation() const;

  std::unique_ptr<Problem> copy() const override;
  double cost() const override;
  bool feasible() const override { return environment_->info().feasible; }
  bool may_be_infeasible() const override { return environment_->spec().may_be_infeasible; }
  int kinds() const override { return environment_->spec().no_op(); }
  int moves(int kind) const override;
  Move move(int kind, int i) const override;
  double change(const Move& move) const override;
  bool allows(const Move& move) const override;
  bool apply(const Move& move) override;
  bool over() const override { return over_; }
  uint64_t hash() const override { return observation().state_key; }
  std::shared_ptr<const Snapshot> snapshot() const override;
  bool is(const Snapshot& snapshot) const override;

 private:
  const ActionMask& mask() const;
  const std::vector<double>& gains(int kind) const;
  void take(const Move& move);

  std::unique_ptr<Environment> environment_;
  Allowed allowed_;
  double initial_cost_ = 0;
  bool over_ = false;
  // Of this state, once they were asked for.
  mutable std::optional<ActionMask> mask_;
  mutable std::vector<std::optional<std::vector<double>>> gains_;  // by kind
  mutable std::optional<Observation> observation_;
};

/// The state of an EnvironmentProblem.
const EnvironmentProblem& environment_problem(const Problem& problem);
/// A move as the action that it is, and the other way.
inline Action action_of(const Move& move) { return {move.kind, move.entity, move.index}; }
inline Move move_of(const Action& action) { return {action.primary, action.index, action.entity}; }

}  // namespace reverie
