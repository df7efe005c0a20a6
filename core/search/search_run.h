#pragma once

#include <chrono>
#include <limits>

#include "core/search/search.h"

namespace reverie {

/// What every method keeps while it runs: clock, counters, the best path so far and the reason to
/// stop.
class SearchRun {
 public:
  SearchRun(const RewriteState& start, const SearchOptions& options);

  const RewriteState& start() const { return start_; }
  const SearchOptions& options() const { return options_; }
  const Cost& best_cost() const { return result_.best_cost; }
  const std::vector<RewriteStep>& best_path() const { return result_.rewrites; }
  bool improves(const Cost& cost) const { return cost.runtime < result_.best_cost.runtime; }
  /// Whether so many bytes of weights are allowed.
  bool allows_weights(int64_t bytes) const { return bytes <= weight_limit_; }
  int64_t weight_limit() const { return weight_limit_; }
  int64_t start_weight_bytes() const { return start_weight_bytes_; }

  /// True once the time is over or a stop was requested; cheap enough for inner loops.
  bool out_of_time();
  void out_of_budget() { result_.stopped_by = StoppedBy::kBudget; }
  void count_expansion();
  void count_candidate() { ++result_.candidates; }
  void count_candidates(int64_t count) { result_.candidates += count; }
  void count_step() { ++result_.steps; }
  void count_duplicate() { ++result_.duplicates; }
  /// Records a new best. `cost` must improve.
  void improve(const Cost& cost, std::vector<RewriteStep> path);
  /// Builds the best graph by replay. Call once, at the end.
  SearchResult finish();
  /// The same where the best graph was not reached by a path.
  SearchResult finish(Graph best, SaturationReport report);

 private:
  double elapsed() const;
  SearchProgress progress() const;

  const RewriteState& start_;
  const SearchOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int64_t start_weight_bytes_ = 0;
  int64_t weight_limit_ = std::numeric_limits<int64_t>::max();
  SearchResult result_;
};

/// A state on its way along one path, with its bytes of weights and the path itself.
class Walk {
 public:
  explicit Walk(SearchRun& run)
      : run_(run), state_(run.start()), weight_bytes_(run.start_weight_bytes()) {}

  const RewriteState& state() const { return state_; }
  const std::vector<RewriteStep>& path() const { return path_; }
  /// What the step changes in run time, negative when it gains. Counts a candidate.
  Picoseconds change(const RewriteStep& step);
  /// Takes the step, and records a new best, unless its weights grow too much. Whether it did.
  bool take(const RewriteStep& step);

 private:
  const Match& match(const RewriteStep& step) const;

  SearchRun& run_;
  RewriteState state_;
  int64_t weight_bytes_;
  std::vector<RewriteStep> path_;
};

/// Descends greedily from where the walk stands: each step takes the rewrite that lowers the cost
/// most, the first one among equals.
void descend(Walk& walk, SearchRun& run);

}  // namespace reverie
