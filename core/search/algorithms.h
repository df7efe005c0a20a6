#pragma once

#include <functional>
#include <memory>

#include "core/search/prior.h"
#include "core/search/search_run.h"

namespace reverie {

// Searches over any Problem. Deterministic for a seed unless the time limit or a stop request cuts
// them short; the best never costs more than the start. An expansion is a state whose moves were
// looked at, a candidate a move that was.

/// Runs one of these, or several.
SearchOutcome solve(std::shared_ptr<const Problem> start, const SearchOptions& options,
                    const std::function<void(SearchRun&)>& search);

/// Takes the move that lowers the cost most until none does. Tree search, annealing and softmax do
/// this as the first of what their budget counts, beam search before it begins (`greedy_first`);
/// the queue of taso goes down the same path first. So none of these comes out worse where greedy
/// search fits into the time.
void run_greedy(SearchRun& run);

/// The best state seen by `budget` random walks of equal length, 1.5 times as long as greedy's
/// path and at least 10 steps; each step draws a kind that has moves, then one of them.
void run_random(SearchRun& run);

/// Cost-based backtracking (Jia et al., "TASO", SOSP 2019, algorithm 2): a queue ordered by cost; a
/// successor enters when it costs less than alpha times the best. Unlike the published algorithm no
/// state is expanded twice, also when independent moves were taken in another order, nor one that
/// is above alpha times the best when its turn comes, and memory is bounded but for hashes:
/// successors of at most `queue` states wait, and no more snapshots are kept to confirm by that a
/// state was reached before; of earlier ones the hash alone decides. `budget` counts expansions.
/// With several threads (see BestFirst) the order of expansions is still that of one.
void run_taso(SearchRun& run);

/// The same as published: a state is expanded as often as it is reached, the queue has no bound,
/// and as soon as the budget of expansions is spent the search ends.
void run_taso_published(SearchRun& run);

/// Every state that can be reached, the cheapest first, at most `exhaustive.states`; states that
/// cannot lead below the best (Problem::lower_bound) are passed over. The outcome says `optimal`
/// when there were no more, and none was left out for `exhaustive.bound` or because it looked like
/// another (`classes`).
void run_exhaustive(SearchRun& run);

/// Beam search: at each depth the `beam.width` cheapest distinct successors of the states kept at
/// the depth before, whether they gain or not; no state is kept twice, at whatever depth. `budget`
/// counts expansions, greedy's left out.
void run_beam(SearchRun& run);

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
/// time is over, it ends with a greedy descent from the best (`finish`).
void run_guided_beam(SearchRun& run, const BeamGuide& guide);

/// Simulated annealing (Kirkpatrick et al., Science 1983), the best of `budget` chains. A move is
/// one of all moves of all kinds, drawn uniformly; one that costs `d` more is taken with
/// probability exp(-d / T). T falls geometrically from `annealing.hot` to `annealing.cold` over
/// `annealing.sweeps` moves per move of the start; then the chain descends greedily. The first
/// chain is greedy search; every second of the others begins at the start, the rest where a random
/// number of greedy's steps leads.
void run_annealing(SearchRun& run);

/// The best of `budget` samples. A step of a sample draws a candidate with probability proportional
/// to exp(-d / T), d being its change in cost and T `softmax.temperature`; after 1.5 times as many
/// steps as greedy takes, at least 10, a greedy descent follows. The first sample is greedy search,
/// the limit of low temperature.
void run_softmax(SearchRun& run);

/// Monte-Carlo tree search: UCT (Kocsis and Szepesvari, ECML 2006) with gains normalised to those
/// seen, states reached in several ways kept once, and progressive widening (Chaslot et al., 2008):
/// a node that was visited n times has ceil(`mcts.widening` sqrt(n)) children, those first that
/// gain most. A new state is worth what `mcts.random_steps` random steps and a greedy descent from
/// there reach. `budget` counts these rollouts, the first is greedy search; `mcts.batch` of them
/// are chosen before any is run. Ends, exhausted, when every state that can be reached is in the
/// tree.
void run_tree_search(SearchRun& run);

/// At most so many steps, each of a kind that has moves, one of them, drawn uniformly.
Walk walk_at_random(SearchRun& run, size_t steps, Rng rng);

/// How long random search walks: as greedy's path calls for, which is no part of the run itself.
size_t random_walk_length(const std::shared_ptr<const Problem>& start, SearchOptions options);

}  // namespace reverie
