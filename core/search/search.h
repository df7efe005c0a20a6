#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/rewrite_state.h"
#include "core/search/options.h"

namespace reverie {

enum class StoppedBy : uint8_t { kExhausted, kBudget, kTimeLimit, kInterrupt };
/// "exhausted", "budget", "time limit", "interrupt".
std::string_view name_of(StoppedBy reason);

/// A state that was the best when it was found.
struct Improvement {
  Cost cost;
  std::vector<RewriteStep> rewrites;  ///< from the start
  std::optional<Graph> graph;         ///< where no path led to it
};

struct SearchResult {
  Graph best;  ///< `rewrites` applied to the start, or what saturation took out of an e-graph
  Cost initial_cost;
  Cost best_cost;
  std::vector<RewriteStep> rewrites;  ///< empty where no path leads to the best
  /// The best so far each time it improved, the start first.
  std::vector<SearchProgress> trace;
  /// What the trace passed through, in that order, the start left out.
  std::vector<Improvement> improvements;
  int64_t expansions = 0;
  int64_t candidates = 0;
  int64_t steps = 0;       ///< rewrites carried out, over all paths
  int64_t duplicates = 0;  ///< states reached again and not expanded again
  int64_t forgotten = 0;   ///< successors that left a full queue (`queue`) before their turn
  double seconds = 0;
  /// Every state that can be reached within the bounds of weights was looked at: none is cheaper.
  bool optimal = false;
  StoppedBy stopped_by = StoppedBy::kExhausted;
  std::optional<SaturationReport> saturation;
  std::optional<MeasuredReport> measured;  ///< of a search against measurements
};

/// A method. Deterministic for a seed unless the time limit or a stop request cuts it short.
/// The best graph never costs more than the start, except by measured_search.
using SearchMethod = std::function<SearchResult(const RewriteState&, const SearchOptions&)>;

/// Takes the rewrite that lowers the cost most until none does. mcts, annealing, softmax, rulelist and
/// rulelist_cmaes do this as the first of what their budget counts, beam and saturation before they
/// begin (`greedy_first`); the queues of taso and of exhaustive search go down the same path first. So
/// none of these comes out worse where greedy search fits into the time.
SearchResult greedy_search(const RewriteState& start, const SearchOptions& options);

/// Cost-based backtracking (Jia et al., "TASO", SOSP 2019, algorithm 2): a queue ordered by cost;
/// a successor enters when it costs less than alpha times the best. Unlike the published algorithm
/// no state is expanded twice, also when independent rewrites were applied in another order, nor
/// one that is above alpha times the best when its turn comes, and memory is bounded but for hashes:
/// successors of at most `queue` states wait, and no more graphs are kept to confirm by that a state was
/// reached before; of earlier ones the hash alone decides. `budget` counts expansions. With several
/// threads (see BestFirst) the order of expansions is still that of one.
SearchResult taso_search(const RewriteState& start, const SearchOptions& options);

/// The same as published: a state is expanded as often as it is reached, the queue has no bound, and
/// as soon as the budget of expansions is spent the search ends.
SearchResult taso_published_search(const RewriteState& start, const SearchOptions& options);

/// Every state that can be reached, the cheapest first, at most `exhaustive.states`. The result says
/// `optimal` when there were no more, and none was left out for `exhaustive.bound` or because it
/// looked like another (`classes`).
SearchResult exhaustive_search(const RewriteState& start, const SearchOptions& options);

/// The best of greedy search and `budget` - 1 random rule orders. An order lists all rules once; each
/// is applied wherever it gains, in the order of its locations, and a random quarter of them wherever
/// it matches, whatever that costs; then all are repeated where they gain, until none does.
SearchResult rule_list_search(const RewriteState& start, const SearchOptions& options);

/// The best of greedy search and `budget` - 1 rule lists of the same kind whose order, and what is
/// forced, are tuned to the graph by a separable CMA-ES (see SeparableCmaEs) over two numbers for each
/// rule. It begins anew elsewhere when it stagnates.
SearchResult rule_list_cmaes_search(const RewriteState& start, const SearchOptions& options);

/// Monte-Carlo tree search: UCT (Kocsis and Szepesvari, ECML 2006) with gains normalised to those
/// seen, states reached in several ways kept once, and progressive widening (Chaslot et al., 2008): a
/// node that was visited n times has ceil(`mcts.widening` sqrt(n)) children, those first that gain
/// most. A new state is worth what `mcts.random_steps` random steps and a greedy descent from there
/// reach. `budget` counts these rollouts, the first is greedy search; `mcts.batch` of them are
/// chosen before any is run. Ends, exhausted, when every state that can be reached is in the tree.
SearchResult mcts_search(const RewriteState& start, const SearchOptions& options);

/// The best state seen by `budget` random walks of equal length, 1.5 times as long as greedy's
/// path and at least 10 steps; each step draws a rule that has locations, then one of them.
SearchResult random_search(const RewriteState& start, const SearchOptions& options);

/// Beam search: at each depth the `beam.width` cheapest distinct successors of the states kept at
/// the depth before, whether they gain or not; no state is kept twice, at whatever depth. `budget`
/// counts expansions, greedy's left out.
SearchResult beam_search(const RewriteState& start, const SearchOptions& options);

/// Simulated annealing (Kirkpatrick et al., Science 1983), the best of `budget` chains. A move is
/// one of all locations of all rules, drawn uniformly; one that costs `d` more is taken with
/// probability exp(-d / T). T falls geometrically from `annealing.hot` to `annealing.cold` over
/// `annealing.sweeps` moves per location of the start; then the chain descends greedily. The first
/// chain is greedy search; every second of the others begins at the start, the rest where a random
/// number of greedy's steps leads.
SearchResult annealing_search(const RewriteState& start, const SearchOptions& options);

/// The best of `budget` samples. A step of a sample draws a candidate with probability proportional
/// to exp(-d / T), d being its change in cost and T `softmax.temperature`; after 1.5 times as many
/// steps as greedy takes, at least 10, a greedy descent follows. The first sample is greedy search,
/// the limit of low temperature.
SearchResult softmax_search(const RewriteState& start, const SearchOptions& options);

/// Equality saturation (Yang et al., "TENSAT", MLSys 2021): all graphs that the rules lead to, as far
/// as the limits go, are held at once in an e-graph, and the best one is taken out of it, so that the
/// order of rewrites does not matter. Conditions on uses are not looked at. There is no path: the
/// result is the graph. An expansion is an iteration over all rules, a candidate a match applied;
/// those of greedy search, the first best, come on top.
/// Taken out bottom-up (select_bottom_up) and by descent (descend) from there and from the start.
SearchResult saturation_greedy_search(const RewriteState& start, const SearchOptions& options);
/// The same, and at the end the best graph of all by an integer linear program (extract_by_ilp).
SearchResult saturation_ilp_search(const RewriteState& start, const SearchOptions& options);

struct NamedMethod {
  std::string name;
  std::string what;         ///< it does, in a few words
  std::string budget_unit;  ///< what `budget` counts; empty where it counts nothing
  SearchMethod run;
};
/// All methods, by the names they have on the command line. Help and README say what stands here.
std::span<const NamedMethod> search_methods();

/// Applies a path. InternalError when a location does not exist.
RewriteState replay(const RewriteState& start, std::span<const RewriteStep> path);

}  // namespace reverie
