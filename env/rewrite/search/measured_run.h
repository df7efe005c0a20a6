#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "core/cost/fitted.h"
#include "env/rewrite/search/cheapest_states.h"
#include "env/rewrite/search/measured_search.h"
#include "env/rewrite/search/rewrite_problem.h"

namespace reverie {

/// What every search against measurements keeps while it runs: graphs and their times, the budget
/// and the clock.
class MeasuredRun {
 public:
  /// Measures the start.
  MeasuredRun(const RewriteState& start, const RewriteSearchOptions& options,
              const MeasuredOptions& measured, const NewTimer& new_timer);

  const RewriteState& start() const { return start_; }
  const RewriteSearchOptions& options() const { return options_; }
  const MeasuredOptions& measured() const { return measured_; }
  /// Those of a search within this one that may take this share of the time left.
  RewriteSearchOptions options_within(double share) const;
  /// For walks; its best is that of the cost model and does not matter.
  RewriteRun& walks() { return walks_; }

  /// Measurements so far.
  int64_t spent() const { return static_cast<int64_t>(report_.trace.size()); }
  /// True once no new graph may be measured: the budget is spent but for what the end needs, the
  /// time is over, or a stop was requested.
  bool over();
  /// Measures the state at the end of a path from the start, unless it was before, or `over`.
  /// Whether it did.
  bool measure(std::span<const RewriteStep> path);
  /// Seconds of the state at the end of a path, its mean where it was measured before; none where
  /// it was not and no more may be, or its weights are above the bound.
  std::optional<double> seconds(std::span<const RewriteStep> path);

  /// The cheapest states not yet measured, at most `most`, that `search` comes by under `costs` in
  /// at most half of the time left.
  std::vector<CheapestStates::Entry> cheapest(const SearchMethod& search,
                                              std::shared_ptr<CostModel> costs, int64_t budget,
                                              uint64_t seed, size_t most);
  /// All that was measured, one entry a graph.
  std::vector<TimedGraph> timed() const;
  /// The report says how `costs` were fitted.
  void note(const FittedCost& costs);

  /// Measures the fastest again and builds the result. Call once, at the end.
  SearchResult finish();

 private:
  struct Measured {
    uint64_t hash = 0;
    std::vector<RewriteStep> path;
    Cost cost;  ///< by the start's model
    std::vector<SignatureCount> counts;
    std::vector<double> times;  ///< seconds, one a measurement
    double deviation = 0;       ///< of the first

    double mean() const;
  };

  int64_t kept_back() const;
  void add(const RewriteState& state, std::span<const RewriteStep> path);
  void time(Measured& graph, const RewriteState& state);
  std::vector<size_t> fastest(size_t most) const;
  void measure_again();
  size_t best() const;
  void note_improvement();

  const RewriteState& start_;
  RewriteSearchOptions options_;
  MeasuredOptions measured_;
  RewriteRun walks_;
  TimeGraph measure_;
  std::unordered_set<uint64_t> known_;  // hashes
  std::vector<Measured> graphs_;        // the start first
  std::vector<size_t> finalists_;       // once they are measured again
  MeasuredReport report_;
  std::vector<SearchProgress> trace_;
  std::vector<Improvement> improvements_;
  size_t best_before_ = 0;
};

}  // namespace reverie
