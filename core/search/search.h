#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/rewrite_state.h"
#include "core/search/options.h"
#include "core/search/search_run.h"

namespace reverie {

/// A cost of the problem of rewriting, as SearchProgress has it.
inline Picoseconds picoseconds(double cost) { return {static_cast<int64_t>(cost)}; }

/// A graph that was the best when it was found.
struct Improvement {
  Picoseconds runtime;
  std::vector<RewriteStep> rewrites;  ///< from the start
  std::optional<Graph> graph;         ///< where no path led to it
};

/// What a search for a better graph found; SearchReport::trace is in picoseconds.
struct SearchResult : SearchReport {
  Graph best;  ///< `rewrites` applied to the start, or what saturation took out of an e-graph
  Cost initial_cost;
  Cost best_cost;
  std::vector<RewriteStep> rewrites;  ///< empty where no path leads to the best
  /// What the trace passed through, in that order, the start left out.
  std::vector<Improvement> improvements = {};
  std::optional<SaturationReport> saturation = {};
  std::optional<MeasuredReport> measured = {};  ///< of a search against measurements
};

/// A method. Deterministic for a seed unless the time limit or a stop request cuts it short.
/// The best graph never costs more than the start, except by measured_search.
using SearchMethod = std::function<SearchResult(const RewriteState&, const SearchOptions&)>;

// Searches over any Problem, on rewrites: see core/search/algorithms.h. `exhaustive_search` is
// within the bounds of weights.
SearchResult greedy_search(const RewriteState& start, const SearchOptions& options);
SearchResult random_search(const RewriteState& start, const SearchOptions& options);
SearchResult taso_search(const RewriteState& start, const SearchOptions& options);
SearchResult taso_published_search(const RewriteState& start, const SearchOptions& options);
SearchResult exhaustive_search(const RewriteState& start, const SearchOptions& options);
SearchResult beam_search(const RewriteState& start, const SearchOptions& options);
SearchResult annealing_search(const RewriteState& start, const SearchOptions& options);
SearchResult softmax_search(const RewriteState& start, const SearchOptions& options);
SearchResult mcts_search(const RewriteState& start, const SearchOptions& options);

// Searches that only rewriting has. Each begins with greedy search and comes out no worse where
// that fits into the time.

/// The best of greedy search and `budget` - 1 random rule orders. An order lists all rules once;
/// each is applied wherever it gains, in the order of its locations, and a random quarter of them
/// wherever it matches, whatever that costs; then all are repeated where they gain, until none
/// does.
SearchResult rule_list_search(const RewriteState& start, const SearchOptions& options);

/// The best of greedy search and `budget` - 1 rule lists of the same kind whose order, and what is
/// forced, are tuned to the graph by a separable CMA-ES (see SeparableCmaEs) over two numbers for
/// each rule. It begins anew elsewhere when it stagnates.
SearchResult rule_list_cmaes_search(const RewriteState& start, const SearchOptions& options);

/// Equality saturation (Yang et al., "TENSAT", MLSys 2021): all graphs that the rules lead to, as
/// far as the limits go, are held at once in an e-graph, and the best one is taken out of it, so
/// that the order of rewrites does not matter. Conditions on uses are not looked at. There is no
/// path: the result is the graph. An expansion is an iteration over all rules, a candidate a match
/// applied; those of greedy search, the first best, come on top. Taken out bottom-up
/// (select_bottom_up) and by descent (descend) from there and from the start.
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

/// Bytes that the weights of what `original` is rewritten to may have by
/// SearchOptions::max_weight_growth.
int64_t most_weight_bytes(const Graph& original, double growth);

/// Applies a path. InternalError when a location does not exist.
RewriteState replay(const RewriteState& start, std::span<const RewriteStep> path);

}  // namespace reverie
