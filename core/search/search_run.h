#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/search/search.h"

namespace reverie {

/// A state, its bytes of weights and the path that led there.
struct Reached {
  RewriteState state;
  int64_t weight_bytes = 0;
  std::vector<RewriteStep> path;
};

/// What every method keeps while it runs: clock, counters, the best path so far and the reason to
/// stop. For one thread; others work on parts of it.
class SearchRun {
 public:
  SearchRun(const RewriteState& start, const SearchOptions& options);

  const RewriteState& start() const { return start_; }
  Reached reached_start() const { return {start_, start_weight_bytes_, {}}; }
  const SearchOptions& options() const { return options_; }
  const Cost& initial_cost() const { return result_.initial_cost; }
  const Cost& best_cost() const { return result_.best_cost; }
  /// By replay where a path leads to it that was not reached.
  Graph best_graph() const;
  const std::vector<RewriteStep>& best_path() const { return result_.rewrites; }
  bool improves(const Cost& cost) const { return cost.runtime < result_.best_cost.runtime; }
  /// Whether taking the match leaves the weights within their bound.
  bool allows(const Reached& from, const Match& match) const;
  /// Whether so many bytes of weights are allowed.
  bool allows_weights(int64_t bytes) const { return bytes <= weight_limit_; }
  int64_t weight_limit() const { return weight_limit_; }

  /// True once the time is over, or will be `ahead` seconds later, or a stop was requested; cheap
  /// enough for inner loops. `must_stop` may be called by any thread, `out_of_time` also records the
  /// reason.
  bool must_stop(double ahead = 0) const;
  bool out_of_time(double ahead = 0);
  void out_of_budget() { result_.stopped_by = StoppedBy::kBudget; }
  void count_expansion();
  void count_candidate() { ++result_.candidates; }
  void count_candidates(int64_t count) { result_.candidates += count; }
  void count_step() { ++result_.steps; }
  void count_duplicate() { ++result_.duplicates; }
  void count_forgotten(int64_t count) { result_.forgotten += count; }
  /// What a search within this one did.
  void count_work(const SearchResult& within);
  /// Tells whoever listens of a state that was built, and keeps its graph where the best path leads
  /// there, so that the end need not go there again.
  void reached(const RewriteState& state, const std::vector<RewriteStep>& path);
  /// Seconds since it began.
  double elapsed() const;
  /// Records a new best. `cost` must improve.
  void improve(const Cost& cost, std::vector<RewriteStep> path);
  /// The same for a graph that no path led to.
  void improve(const Cost& cost, const Graph& graph);

  /// A part of this run for another thread: the same start, clock and limits, counters at zero and
  /// the start as best. Reports no progress. May be called by any thread while the run rests.
  SearchRun part() const;
  /// Adds what a part counted and found. Parts merged in a fixed order give the same result however
  /// many threads worked on them.
  void merge(SearchRun part);
  /// The threads that the options ask for; null where that is one, and for parts.
  WorkerPool* pool() const { return pool_.get(); }

  /// Builds the best graph. Call once, at the end.
  SearchResult finish();

 private:
  void record(Improvement improvement);
  SearchProgress progress() const;

  const RewriteState& start_;
  const SearchOptions& options_;
  bool is_part_ = false;
  double begin_ = 0;
  int64_t start_weight_bytes_ = 0;
  int64_t weight_limit_ = std::numeric_limits<int64_t>::max();
  std::shared_ptr<WorkerPool> pool_;
  SearchResult result_;
  std::optional<Graph> best_graph_;  // once it was reached
};

/// The state that the match leads to, a step further.
Reached successor(const Reached& from, const RewriteStep& step, const Match& match);

/// A state on its way along one path.
class Walk {
 public:
  explicit Walk(SearchRun& run) : Walk(run, run.reached_start()) {}
  /// Records a new best if that is where it begins.
  Walk(SearchRun& run, Reached from);

  const RewriteState& state() const { return at_.state; }
  const std::vector<RewriteStep>& path() const { return at_.path; }
  /// Of all states on the way.
  const Cost& least_cost() const { return least_cost_; }
  /// What the step changes in run time, negative when it gains. Counts a candidate.
  Picoseconds change(const RewriteStep& step);
  /// Takes the step, and records a new best, unless its weights grow too much. Whether it did.
  bool take(const RewriteStep& step);
  /// Takes the steps, which must exist, as far as they are allowed and the time lasts.
  void follow(std::span<const RewriteStep> steps);

 private:
  const Match& match(const RewriteStep& step) const;

  void arrive();

  SearchRun& run_;
  Reached at_;
  Cost least_cost_;
};

/// A rule that has locations, then one of them, each drawn uniformly; nothing when there is none.
std::optional<RewriteStep> draw_step(const RewriteState& state, Rng& rng);

/// Descends greedily from where the walk stands: each step takes the rewrite that lowers the cost
/// most, the first one among equals.
void descend(Walk& walk, SearchRun& run);

/// Greedy search, to begin with. Methods that may end above it in little time have it as their first
/// best, so that none of them comes out worse where greedy search fits into the time.
void begin_greedily(SearchRun& run);

/// Descends greedily from the best, if the options ask for it.
void finish_greedily(SearchRun& run);

/// The mean gain of a step on the path to the best so far, which greedy found; a thousandth of the
/// initial cost where it found nothing.
Picoseconds mean_gain(const SearchRun& run);

/// Steps of a random walk: 1.5 times as many as on the path to the best so far, which greedy found;
/// at least ten.
size_t walk_length(const SearchRun& run);

/// Calls visit(step, match) for all locations of all rules, or for one of each class of them where
/// the options say so; false when the time ended it early.
template <class Visit>
bool for_each_location(const RewriteState& state, SearchRun& run, const Visit& visit) {
  for (int rule = 0; rule < state.rules().size(); ++rule) {
    if (run.out_of_time()) return false;
    const std::vector<Match>& locations = state.locations(rule);
    const std::vector<LocationClass>* classes =
        run.options().classes ? &state.classes(rule) : nullptr;
    const size_t count = classes != nullptr ? classes->size() : locations.size();
    for (size_t i = 0; i < count; ++i) {
      if (run.out_of_time()) return false;
      const int location =
          classes != nullptr ? (*classes)[i].representative() : static_cast<int>(i);
      visit(RewriteStep{rule, location}, locations[static_cast<size_t>(location)]);
    }
  }
  return true;
}

/// Calls walk(part, index) for indices from 0 on below `count`, until the time is over, on as many
/// threads as the options say, each with a part of the run or, on one thread, the run itself. A
/// walk may depend on its index and on the run's start alone.
void run_walks(SearchRun& run, int64_t count,
               const std::function<void(SearchRun& part, int64_t index)>& walk);

}  // namespace reverie
