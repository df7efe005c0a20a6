#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/search/options.h"
#include "core/search/path.h"
#include "core/search/problem.h"

namespace reverie {

enum class StoppedBy : uint8_t { kExhausted, kBudget, kTimeLimit, kInterrupt };
/// "exhausted", "budget", "time limit", "interrupt".
std::string_view name_of(StoppedBy reason);

/// What an algorithm has to say of its own, such as how large a structure it built.
class SearchDetails {
 public:
  virtual ~SearchDetails() = default;
  virtual std::string name() const = 0;  ///< of the algorithm: "saturation"
  virtual std::string sentence() const = 0;
  virtual Json json() const = 0;  ///< an object
};

/// How a search went, whatever the problem.
struct SearchReport {
  /// The best so far each time it improved, the start first.
  std::vector<SearchProgress> trace;
  int64_t expansions = 0;
  int64_t candidates = 0;
  int64_t steps = 0;       ///< moves taken, over all paths
  int64_t duplicates = 0;  ///< states reached again and not expanded again
  int64_t forgotten = 0;   ///< successors that left a full queue (`queue`) before their turn
  double seconds = 0;
  /// Every state that can be reached within its bounds was looked at: none is cheaper.
  bool optimal = false;
  StoppedBy stopped_by = StoppedBy::kExhausted;
  std::shared_ptr<const SearchDetails> details = nullptr;  ///< null: nothing
};

/// A state that was the best when it was found.
struct BestState {
  double cost = 0;
  Path path = {};                                   ///< from the start; empty where none led to it
  std::shared_ptr<const Snapshot> state = nullptr;  ///< null where only the path is at hand
};

struct SearchOutcome : SearchReport {
  double initial_cost = 0;
  BestState best;  ///< with its state; of infinite cost, and the start, where none was feasible
  /// What the trace passed through, in that order, the start left out.
  std::vector<BestState> improvements;
};

/// A state and the path that led there.
struct Reached {
  std::unique_ptr<Problem> state;
  Path path;
};

/// What every search keeps while it runs: clock, counters, the best path so far and the reason to
/// stop. For one thread; others work on parts of it.
class SearchRun {
 public:
  /// Called for each state that is built, by all threads of the search.
  using OnState = std::function<void(const Problem&, const Path& path)>;

  /// `options` must outlive this.
  SearchRun(std::shared_ptr<const Problem> start, const SearchOptions& options,
            OnState on_state = nullptr);

  const Problem& start() const { return *start_; }
  const std::shared_ptr<const Problem>& shared_start() const { return start_; }
  Reached reached_start() const { return {start_->copy(), {}}; }
  const SearchOptions& options() const { return options_; }
  double initial_cost() const { return outcome_.initial_cost; }
  /// Of feasible states; infinite before there is one.
  double best_cost() const { return outcome_.best.cost; }
  const Path& best_path() const { return outcome_.best.path; }
  /// By replay where a path leads to it that was not reached.
  std::shared_ptr<const Snapshot> best_state() const;
  /// Counters and trace so far.
  const SearchReport& report() const { return outcome_; }
  bool improves(double cost) const { return cost < outcome_.best.cost; }

  /// True once the time is over, or will be `ahead` seconds later, or a stop was requested; cheap
  /// enough for inner loops. `must_stop` may be called by any thread, `out_of_time` also records
  /// the reason.
  bool must_stop(double ahead = 0) const;
  bool out_of_time(double ahead = 0);
  void stopped(StoppedBy reason) { outcome_.stopped_by = reason; }
  void out_of_budget() { stopped(StoppedBy::kBudget); }
  void saw_all() { outcome_.optimal = true; }
  void tell(std::shared_ptr<const SearchDetails> details) { outcome_.details = std::move(details); }
  void count_expansion();
  void count_candidate() { ++outcome_.candidates; }
  void count_candidates(int64_t count) { outcome_.candidates += count; }
  void count_step() { ++outcome_.steps; }
  void count_duplicate() { ++outcome_.duplicates; }
  void count_forgotten(int64_t count) { outcome_.forgotten += count; }
  /// What a search within this one did.
  void count_work(const SearchReport& within);
  /// Tells whoever listens of a state that was built, and keeps its snapshot where the best path
  /// leads there, so that the end need not go there again.
  void reached(const Problem& state, const Path& path);
  /// The second part of that alone.
  void keep_if_best(const Problem& state, const Path& path);
  /// Seconds since it began.
  double elapsed() const;
  /// Records a new best, whose cost must improve; its path, its state or both.
  void improve(BestState found);

  /// A part of this run for another thread: the same start, clock and limits, counters at zero and
  /// the start as best. Reports no progress. May be called by any thread while the run rests.
  SearchRun part() const;
  /// Adds what a part counted and found. Parts merged in a fixed order give the same result however
  /// many threads worked on them.
  void merge(SearchRun part) { merge(std::move(part.outcome_)); }
  /// The same for what a search within this one found from the same start.
  void merge(SearchOutcome other);
  /// The threads that the options ask for; null where that is one, and for parts.
  WorkerPool* pool() const { return pool_.get(); }

  /// Gives what was found. Call once, at the end.
  SearchOutcome finish();

 private:
  double first_best() const;
  SearchProgress progress() const;

  std::shared_ptr<const Problem> start_;
  const SearchOptions& options_;
  OnState on_state_;
  bool is_part_ = false;
  double begin_ = 0;
  std::shared_ptr<WorkerPool> pool_;
  SearchOutcome outcome_;
};

/// The state that the move leads to, a step further; no state where the move is refused. The state
/// must have the move.
Reached successor(const Reached& from, const Move& move);

/// Takes the moves of a path, one after another. InternalError when one does not exist or is
/// refused.
std::unique_ptr<Problem> replay(const Problem& start, std::span<const Move> path);

/// A state on its way along one path.
class Walk {
 public:
  explicit Walk(SearchRun& run) : Walk(run, run.reached_start()) {}
  /// Records a new best if that is where it begins.
  Walk(SearchRun& run, Reached from);

  const Problem& state() const { return *at_.state; }
  const Path& path() const { return at_.path; }
  /// Of the feasible states on the way; of all where none is.
  double least_cost() const { return least_feasible_ < kInfinity ? least_feasible_ : least_cost_; }
  /// What the move changes in cost, negative when it gains. Counts a candidate.
  double change(const Move& move);
  /// Takes the move, and records a new best, unless it is refused. Whether it did.
  bool take(const Move& move);
  /// Takes the moves, which must exist, as far as they are allowed and the time lasts.
  void follow(std::span<const Move> moves);

 private:
  void arrive();

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  SearchRun& run_;
  Reached at_;
  double least_cost_ = kInfinity;
  double least_feasible_ = kInfinity;
};

/// A kind that has moves, then one of them, each drawn uniformly; nothing when there is none.
std::optional<Move> draw_move(const Problem& state, Rng& rng);

/// Descends greedily from where the walk stands: each step takes the move that lowers the cost
/// most, the first one among equals. From a feasible state none leads to an infeasible one.
void descend(Walk& walk, SearchRun& run);

/// Greedy search, to begin with. Searches that may end above it in little time have it as their
/// first best, so that none of them comes out worse where greedy search fits into the time.
void begin_greedily(SearchRun& run);

/// Descends greedily from the best.
void finish_greedily(SearchRun& run);

/// The mean gain of a step on the path to the best so far, which greedy found; a thousandth of the
/// initial cost where it found nothing. Above 0.
double mean_gain(const SearchRun& run);

/// Steps of a random walk: 1.5 times as many as on the path to the best so far, which greedy found;
/// at least ten.
size_t walk_length(const SearchRun& run);

/// Calls visit(move) for all candidates of all kinds; false when the time ended it early.
template <class Visit>
bool for_each_candidate(const Problem& state, SearchRun& run, const Visit& visit) {
  for (int kind = 0; kind < state.kinds(); ++kind) {
    if (run.out_of_time()) return false;
    const int count = state.candidates(kind);
    for (int i = 0; i < count; ++i) {
      if (run.out_of_time()) return false;
      visit(state.candidate(kind, i));
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
