#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

namespace reverie {

/// What leads from a state to another: the `index`-th move of its kind, at the entity that it
/// changes where the problem tells entities apart.
struct Move {
  int kind = 0;
  int index = 0;
  int entity = 0;
  bool operator==(const Move&) const = default;
};

/// A move and what it changes in cost (Problem::change).
struct RatedMove {
  Move move;
  double change = 0;
};

/// Candidates of a state one after another: the one that lowers its cost most comes first, among
/// equals the first in the order of kinds and of Problem::candidate. Valid until the state takes a
/// move.
class RankedMoves {
 public:
  virtual ~RankedMoves() = default;
  /// Nothing after the last.
  virtual std::optional<RatedMove> next() = 0;
};

/// What a state is, without what it takes to go on from there: enough to know the state again.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
};

/// A problem in one of its states: all that a search needs to know. Copies are independent. Several
/// threads may copy one object at once; everything else is for one thread at a time.
class Problem {
 public:
  virtual ~Problem() = default;
  virtual std::unique_ptr<Problem> copy() const = 0;

  /// What the search makes small; finite. The unit is the problem's own.
  virtual double cost() const = 0;
  /// No state that can be reached from here, this one included, costs less.
  virtual double lower_bound() const { return -std::numeric_limits<double>::infinity(); }

  /// Whether this state may be a result, and whether there are states that may not.
  virtual bool feasible() const { return true; }
  virtual bool may_be_infeasible() const { return false; }

  /// Kinds of moves; the same number in all states.
  virtual int kinds() const = 0;
  /// Moves of a kind that this state has, in an order that depends on the state alone.
  virtual int moves(int kind) const = 0;
  /// The i-th of them.
  virtual Move move(int kind, int i) const { return {kind, i}; }
  /// Of the moves of a kind those that a search looks at, where some look alike; by default all.
  virtual int candidates(int kind) const { return moves(kind); }
  virtual Move candidate(int kind, int i) const { return move(kind, i); }
  /// Whether there may be moves that are no candidates.
  virtual bool leaves_out() const { return false; }
  /// The cost of the state that a move leads to less cost(). By default a copy takes the move.
  virtual double change(const Move& move) const;
  /// All candidates by their `change`, for searches that need the best few of many. Only a problem
  /// that keeps them in order from state to state has something to give; null by default, and then
  /// a search looks at each of them.
  virtual std::unique_ptr<RankedMoves> ranked() const { return nullptr; }
  /// Whether `apply` takes the move.
  virtual bool allows(const Move&) const { return true; }
  /// Takes a move that this state has; false, and no change, where it is refused.
  virtual bool apply(const Move& move) = 0;
  /// Whether an episode ended here, so that no move follows.
  virtual bool over() const { return false; }

  /// Equal states have equal hashes.
  virtual uint64_t hash() const = 0;
  virtual std::shared_ptr<const Snapshot> snapshot() const = 0;
  /// Whether this is the state of the snapshot, which is one of the same problem.
  virtual bool is(const Snapshot& snapshot) const = 0;
};

}  // namespace reverie
