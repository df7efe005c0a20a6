#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/config.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/ir/graph.h"
#include "core/rules/rewrite_state.h"
#include "core/search/egraph/saturation_options.h"

namespace reverie {

/// How far a search has come.
struct SearchProgress {
  double seconds = 0;
  int64_t expansions = 0;  ///< states whose rewrites were looked at
  int64_t candidates = 0;  ///< successors seen, before duplicates are removed
  Cost best;
};

struct SearchOptions {
  /// taso: a successor is kept when its cost is below alpha times the best known.
  double alpha = 1.05;
  /// taso: states expanded; rulelist: rule orders tried; random: walks. greedy needs none.
  int64_t budget = 100;
  /// taso: when the budget is spent, the best graph is finished by a greedy descent, whose
  /// expansions come on top.
  bool finish = true;
  /// Seconds after which the best graph so far is returned; 0: no limit.
  double time_limit = 0;
  uint64_t seed = 0;
  /// Upper bound of the bytes of weights relative to the original; 0: no bound.
  double max_weight_growth = 0;
  SaturationOptions saturation;
  StopToken stop;
  /// Called about once per expansion.
  std::function<void(const SearchProgress&)> on_progress;

  template <class V>
  void fields(V& v) {
    v.field("alpha", alpha, "Successors above alpha times the best cost are dropped (taso)",
            at_least(1));
    v.field("budget", budget, "Expansions (taso), rule orders (rulelist) or walks (random)",
            at_least(0));
    v.field("finish", finish, "Descend greedily from the best when the budget is spent (taso)");
    v.field("time_limit", time_limit, "Seconds after which the best so far is returned, 0: none",
            at_least(0));
    v.field("seed", seed, "Seed of the random methods");
    v.field("max_weight_growth", max_weight_growth,
            "Bound of the bytes of weights relative to the original, 0: none", at_least(0));
    v.section("saturation", saturation, "Equality saturation");
  }
};

/// One rewrite of a path: the `location`-th entry of RewriteState::locations(rule).
struct RewriteStep {
  int rule = 0;
  int location = 0;
  bool operator==(const RewriteStep&) const = default;
};

enum class StoppedBy : uint8_t { kExhausted, kBudget, kTimeLimit, kInterrupt };
/// "exhausted", "budget", "time limit", "interrupt".
std::string_view name_of(StoppedBy reason);

struct SearchResult {
  Graph best;  ///< `rewrites` applied to the start, or what saturation took out of an e-graph
  Cost initial_cost;
  Cost best_cost;
  std::vector<RewriteStep> rewrites;  ///< empty where `saturation` is there
  /// The best so far each time it improved, the start first.
  std::vector<SearchProgress> trace;
  int64_t expansions = 0;
  int64_t candidates = 0;
  int64_t steps = 0;       ///< rewrites carried out, over all paths
  int64_t duplicates = 0;  ///< states reached again and not expanded again
  double seconds = 0;
  StoppedBy stopped_by = StoppedBy::kExhausted;
  std::optional<SaturationReport> saturation;
};

/// A method. Deterministic for a seed unless the time limit or a stop request cuts it short.
/// The best graph never costs more than the start.
using SearchMethod = std::function<SearchResult(const RewriteState&, const SearchOptions&)>;

/// Takes the rewrite that lowers the cost most until none does.
SearchResult greedy_search(const RewriteState& start, const SearchOptions& options);

/// Cost-based backtracking (Jia et al., "TASO", SOSP 2019, algorithm 2): a queue ordered by cost;
/// a successor enters when it costs less than alpha times the best. Unlike the published program
/// no state is expanded twice, also when independent rewrites were applied in another order; a hit
/// of the hash is confirmed by comparing the graphs.
SearchResult taso_search(const RewriteState& start, const SearchOptions& options);

/// The best of `budget` random rule orders. An order lists all rules once; each is applied
/// wherever it gains, in the order of its locations, and a random quarter of them wherever it
/// matches, whatever that costs; then all are repeated where they gain, until none does.
SearchResult rule_list_search(const RewriteState& start, const SearchOptions& options);

/// The best state seen by `budget` random walks of equal length, 1.5 times as long as greedy's
/// path and at least 10 steps; each step draws a rule that has locations, then one of them.
SearchResult random_search(const RewriteState& start, const SearchOptions& options);

/// Equality saturation (Yang et al., "TENSAT", MLSys 2021): all graphs that the rules lead to, as far
/// as the limits go, are held at once in an e-graph, and the best one is taken out of it, so that the
/// order of rewrites does not matter. Conditions on uses are not looked at. There is no path: the
/// result is the graph. An expansion is an iteration over all rules, a candidate a match applied.
/// Taken out bottom-up (select_bottom_up) and by descent (descend) from there and from the start.
SearchResult saturation_greedy_search(const RewriteState& start, const SearchOptions& options);

struct NamedMethod {
  std::string name;
  SearchMethod run;
};
/// greedy, taso, rulelist, random, saturation_greedy.
std::span<const NamedMethod> search_methods();

/// Applies a path. InternalError when a location does not exist.
RewriteState replay(const RewriteState& start, std::span<const RewriteStep> path);

}  // namespace reverie
