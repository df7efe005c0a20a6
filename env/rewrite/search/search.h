#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/rewrite_state.h"
#include "core/search/algorithms.h"
#include "env/rewrite/search/egraph/saturation_options.h"
#include "env/rewrite/search/measured_options.h"
#include "env/solver.h"

namespace reverie {

/// One rewrite of a path: the `location`-th entry of RewriteState::locations(rule).
struct RewriteStep {
  int rule = 0;
  int location = 0;
  bool operator==(const RewriteStep&) const = default;
};

/// What every search over rewrites is given.
struct RewriteSearchOptions : SearchOptions {
  /// Upper bound of the bytes of weights relative to the original; 0: no bound.
  double max_weight_growth = 0;
  /// Of locations that look alike (LocationClass) only the first is a candidate.
  bool classes = false;
  /// Called for each state that is built and the path that led there from the start, by all threads
  /// of the search; saturation builds none.
  std::function<void(const RewriteState&, std::span<const RewriteStep>)> on_state;

  template <class V>
  void fields(V& v) {
    SearchOptions::fields(v);
    v.field("max_weight_growth", max_weight_growth,
            "Bound of the bytes of weights relative to the original, 0: none", at_least(0));
    v.field("classes", classes,
            "Of locations that look alike only the first is a candidate (greedy, taso, beam, mcts, "
            "exhaustive)");
  }
};

/// A cost of the problem of rewriting, as SearchProgress has it.
inline Picoseconds picoseconds(double cost) { return {static_cast<int64_t>(cost)}; }

/// A graph that was the best when it was found.
struct Improvement {
  Picoseconds runtime;
  Path path;                   ///< from the start
  std::optional<Graph> graph;  ///< where no path led to it
};

/// What a search for a better graph found; SearchReport::trace is in picoseconds.
struct SearchResult : SearchReport {
  Graph best;  ///< `rewrites` applied to the start, or what saturation took out of an e-graph
  Cost initial_cost;
  Cost best_cost;
  std::vector<RewriteStep> rewrites;  ///< empty where no path leads to the best
  /// What the trace passed through, in that order, the start left out.
  std::vector<Improvement> improvements = {};
  std::optional<MeasuredReport> measured = {};  ///< of a search against measurements
};

/// A method. Deterministic for a seed unless the time limit or a stop request cuts it short.
/// The best graph never costs more than the start, except by measured_search.
using SearchMethod = std::function<SearchResult(const RewriteState&, const RewriteSearchOptions&)>;

/// Runs a search over any Problem, or one of those below, on rewrites.
SearchResult search_rewrites(const RewriteState& start, const RewriteSearchOptions& options,
                             const Search& search);
/// The same as a method.
SearchMethod on_rewrites(Search search);
/// That of the solver of this name. InputError lists the names where no search is called so.
SearchMethod method_named(const std::string& name, const SolverSettings& settings);

/// What equality saturation built, and how the best graph was taken out of it.
struct SaturationReport : SearchDetails {
  int64_t rounds = 0;
  int64_t iterations = 0;  ///< over all rounds
  int64_t nodes = 0;       ///< of the last e-graph; so all that follow
  int64_t classes = 0;
  bool saturated = false;  ///< no rule had anything new to add
  /// "greedy", or what the solver says of the graph: "optimal" among all that the e-graph holds
  /// (its cycles broken), "gap 1.2%" (how far above the least it may be) or "gap unknown".
  std::string extraction;

  std::string name() const override { return "saturation"; }
  std::string sentence() const override;
  Json json() const override;
};

// Searches that only rewriting has. Each begins with greedy search and comes out no worse where
// that fits into the time.
namespace search {

/// The best of greedy search and `budget` - 1 random rule orders. An order lists all rules once;
/// each is applied wherever it gains, in the order of its locations, and a random quarter of them
/// wherever it matches, whatever that costs; then all are repeated where they gain, until none
/// does.
struct RuleLists {
  void operator()(SearchRun& run) const;
};

/// Equality saturation (Yang et al., "TENSAT", MLSys 2021): all graphs that the rules lead to, as
/// far as the limits go, are held at once in an e-graph, and the best one is taken out of it, so
/// that the order of rewrites does not matter. Built-in rules come first; others join them when
/// those gain no more, so that they only add. Conditions on uses are not looked at. There is no
/// path: the result is the graph. An expansion is an iteration over all rules, a candidate a match
/// applied; those of greedy search, the first best, come on top. Taken out bottom-up
/// (select_bottom_up) and by descent (select_by_descent) from there and from the start; with
/// `solve` at the end the best graph of all by an integer linear program (extract_by_ilp).
struct Saturation : SaturationOptions {
  /// Greedy search comes first.
  bool greedy_first = true;
  bool solve = false;

  void operator()(SearchRun& run) const;

  template <class V>
  void fields(V& v) {
    SaturationOptions::fields(v);
    v.field("greedy_first", greedy_first, "Begin with greedy search");
  }
};

}  // namespace search

/// Bytes that the weights of what `original` is rewritten to may have by
/// SearchOptions::max_weight_growth.
int64_t most_weight_bytes(const Graph& original, double growth);

/// Applies a path. InternalError when a location does not exist.
RewriteState replay(const RewriteState& start, std::span<const RewriteStep> path);

}  // namespace reverie
