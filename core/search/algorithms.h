#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/config.h"
#include "core/search/prior.h"
#include "core/search/search_run.h"

namespace reverie {

// Searches over any Problem. Each is an object that holds its own options and is called with a run.
// Deterministic for a seed unless the time limit or a stop request cuts them short; the best never
// costs more than the start. An expansion is a state whose moves were looked at, a candidate a move
// that was. `budget` is SearchOptions::budget.

/// A search, ready to run.
using Search = std::function<void(SearchRun&)>;

SearchOutcome solve(std::shared_ptr<const Problem> start, const SearchOptions& options,
                    const Search& search);

namespace search {

/// Takes the move that lowers the cost most until none does. Tree search and annealing do this as
/// the first of what their budget counts, beam search before it begins (`greedy_first`); the queue
/// of taso goes down the same path first, and where a problem keeps its moves in order, greedy's
/// result counts when the time is over. So none of these comes out worse where greedy search fits
/// into the time.
struct Greedy {
  void operator()(SearchRun& run) const;
};

/// The best state seen by `budget` random walks of equal length, 1.5 times as long as greedy's
/// path and at least 10 steps; each step draws a kind that has moves, then one of them.
struct RandomWalks {
  void operator()(SearchRun& run) const;
};

/// Cost-based backtracking (Jia et al., "TASO", SOSP 2019, algorithm 2): a queue ordered by cost; a
/// successor enters when it costs less than alpha times the best. Unlike the published algorithm no
/// state is expanded twice, also when independent moves were taken in another order, nor one that
/// is above alpha times the best when its turn comes, and memory is bounded but for hashes:
/// successors of at most `queue` states wait, and no more snapshots are kept to confirm by that a
/// state was reached before; of earlier ones the hash alone decides. `budget` counts expansions.
/// With several threads (see BestFirst) the order of expansions is still that of one.
struct Taso {
  double alpha = 1.05;
  int64_t queue = 10000;
  /// When the budget is spent, the best is finished by a greedy descent, whose expansions come on
  /// top.
  bool finish = true;
  /// As published: a state is expanded as often as it is reached, the queue has no bound, and as
  /// soon as the budget is spent the search ends.
  bool published = false;

  void operator()(SearchRun& run) const;

  template <class V>
  void fields(V& v) {
    v.field("alpha", alpha, "Successors above alpha times the best cost are dropped", at_least(1));
    v.field("queue", queue,
            "Expanded states whose successors wait, at most; beyond, the dearest are dropped "
            "(taso)",
            at_least(1));
    v.field("finish", finish, "Descend greedily from the best when the budget is spent (taso)");
  }
};

/// Every state that can be reached, the cheapest first, at most `states`; states that cannot lead
/// below the best (Problem::lower_bound) are passed over. The outcome says `optimal` when there
/// were no more, and none was left out for `bound` or because it looked like another
/// (Problem::candidates).
struct Exhaustive {
  int64_t states = 100000;
  double bound = 0;

  void operator()(SearchRun& run) const;

  template <class V>
  void fields(V& v) {
    v.field("states", states, "States expanded at most", at_least(1));
    v.field("bound", bound,
            "Successors above this many times the cost of the start are left out, 0: none",
            at_least(0));
  }
};

/// Beam search: at each depth the `width` cheapest distinct successors of the states kept at the
/// depth before, whether they gain or not; no state is kept twice, at whatever depth. `budget`
/// counts expansions, greedy's left out.
struct Beam {
  int64_t width = 8;
  /// Greedy search comes first, on top of the budget.
  bool greedy_first = true;
  /// As for Taso.
  bool finish = true;

  void operator()(SearchRun& run) const;

  template <class V>
  void fields(V& v) {
    v.field("width", width, "States kept at each depth", at_least(1));
    v.field("greedy_first", greedy_first, "Begin with greedy search, on top of the budget");
    v.field("finish", finish, "Descend greedily from the best when the budget is spent");
  }
};

/// How a prior guides a beam.
struct BeamGuide {
  const MovePrior& prior;
  double gain_weight = 1;  ///< what a percent gained is worth beside the log-probability of a path
  int64_t batch = 1;       ///< states asked about at once, at most
};

/// The same of the moves that a prior advises, the best successors being those of the largest sum
///   of the log-priors along the path + gain_weight * gain so far in percent of the initial cost
/// which orders paths w by the posterior  p(w) exp(gain_weight * gain(w))  of a policy as prior and
/// gains as likelihood (Levine, "Reinforcement Learning and Control as Probabilistic Inference",
/// 2018, section 2). Successors are scored by their change in cost before any is built. Unless the
/// time is over, it ends with a greedy descent from the best (`beam.finish`).
void run_guided_beam(SearchRun& run, const Beam& beam, const BeamGuide& guide);

/// Simulated annealing (Kirkpatrick et al., Science 1983), the best of `budget` chains. A move is
/// one of all moves of all kinds, drawn uniformly; one that costs `d` more is taken with
/// probability exp(-d / T). T falls geometrically from `hot` to `cold` over `sweeps` moves per move
/// of the start; then the chain descends greedily. The first chain is greedy search; every second
/// of the others begins at the start, the rest where a random number of greedy's steps leads.
/// Temperatures are in units of the mean gain of greedy's steps, so that one setting suits problems
/// of all sizes and costs of all sources. With `sweeps` 0 there is one chain, from the start, which
/// lasts as long as the time limit; its temperatures are in units of what a move of the start
/// changes, as the median of some.
struct Annealing {
  double hot = 1;
  double cold = 0.01;
  double sweeps = 20;

  void operator()(SearchRun& run) const;

  template <class V>
  void fields(V& v) {
    v.field("hot", hot,
            "Temperature at first, in mean gains of a greedy step; in one chain, in median changes "
            "of a move",
            above(0));
    v.field("cold", cold, "Temperature at last", above(0));
    v.field("sweeps", sweeps,
            "Moves proposed in a chain, per move of the start; 0: one chain until the time limit",
            between(0, 1e6));
  }
};

/// Monte-Carlo tree search: UCT (Kocsis and Szepesvari, ECML 2006) with gains normalised to those
/// seen, states reached in several ways kept once, and progressive widening (Chaslot et al., 2008):
/// a node that was visited n times has ceil(`widening` sqrt(n)) children, those first that gain
/// most. A new state is worth what `random_steps` random steps and a greedy descent from there
/// reach. `budget` counts these rollouts, the first is greedy search; `batch` of them are chosen
/// before any is run. Ends, exhausted, when every state that can be reached is in the tree.
struct Mcts {
  double exploration = 0.3;
  double widening = 2;
  int64_t random_steps = 10;
  int64_t batch = 4;

  void operator()(SearchRun& run) const;

  template <class V>
  void fields(V& v) {
    v.field("exploration", exploration, "Factor of UCT's exploration term", at_least(0));
    v.field("widening", widening, "Children of a node per root of its visits", above(0));
    v.field("random_steps", random_steps, "Random steps of a rollout before the greedy descent",
            at_least(0));
    v.field("batch", batch, "Rollouts chosen before their results are seen", at_least(1));
  }
};

/// At most so many steps, each of a kind that has moves, one of them, drawn uniformly.
Walk walk_at_random(SearchRun& run, size_t steps, Rng rng);

/// How long random search walks: as greedy's path calls for, which is no part of the run itself.
size_t random_walk_length(const std::shared_ptr<const Problem>& start, SearchOptions options);

}  // namespace search
}  // namespace reverie
