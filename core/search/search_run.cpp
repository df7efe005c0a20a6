#include "core/search/search_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

double now(const SearchOptions& options) {
  if (options.clock) return options.clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

SearchRun::SearchRun(std::shared_ptr<const Problem> start, const SearchOptions& options,
                     OnState on_state)
    : start_(std::move(start)),
      options_(options),
      on_state_(std::move(on_state)),
      begin_(now(options)) {
  if (options.threads > 1) pool_ = std::make_shared<WorkerPool>(options.threads);
  outcome_.initial_cost = start_->cost();
  outcome_.best.cost = first_best();
  outcome_.trace.push_back(progress());
}

double SearchRun::first_best() const {
  return start_->feasible() ? outcome_.initial_cost : std::numeric_limits<double>::infinity();
}

double SearchRun::elapsed() const { return now(options_) - begin_; }

SearchProgress SearchRun::progress() const {
  return {elapsed(), outcome_.expansions, outcome_.candidates, outcome_.best.cost};
}

bool SearchRun::must_stop(double ahead) const {
  return options_.stop.requested() ||
         (options_.time_limit > 0 && elapsed() + ahead >= options_.time_limit);
}

bool SearchRun::out_of_time(double ahead) {
  if (!must_stop(ahead)) return false;
  outcome_.stopped_by = options_.stop.requested() ? StoppedBy::kInterrupt : StoppedBy::kTimeLimit;
  return true;
}

void SearchRun::count_expansion() {
  ++outcome_.expansions;
  if (options_.on_progress && !is_part_) options_.on_progress(progress());
}

void SearchRun::keep_if_best(const Problem& state, const Path& path) {
  BestState& best = outcome_.best;
  if (best.state == nullptr && state.cost() == best.cost && path == best.path)
    best.state = state.snapshot();
}

void SearchRun::reached(const Problem& state, const Path& path) {
  keep_if_best(state, path);
  if (on_state_) on_state_(state, path);
}

void SearchRun::improve(BestState found) {
  REVERIE_CHECK(improves(found.cost), "{} is no better than {}", found.cost, best_cost());
  outcome_.best = found;
  outcome_.improvements.push_back(std::move(found));
  outcome_.trace.push_back(progress());
}

SearchRun SearchRun::part() const {
  SearchRun part = *this;
  part.is_part_ = true;
  part.pool_ = nullptr;
  part.outcome_ = {};
  part.outcome_.initial_cost = outcome_.initial_cost;
  part.outcome_.best.cost = first_best();
  return part;
}

void SearchRun::merge(SearchOutcome other) {
  for (size_t i = 0; i < other.improvements.size(); ++i) {
    if (!improves(other.improvements[i].cost)) continue;
    // A part's trace begins with its first improvement, a whole search's with its start.
    SearchProgress point = other.trace[i + other.trace.size() - other.improvements.size()];
    point.seconds = std::max(point.seconds, outcome_.trace.back().seconds);
    point.expansions += outcome_.expansions;
    point.candidates += outcome_.candidates;
    outcome_.trace.push_back(point);
    outcome_.best = other.improvements[i];
    const bool is_last = i + 1 == other.improvements.size();
    if (is_last && outcome_.best.state == nullptr) outcome_.best.state = other.best.state;
    outcome_.improvements.push_back(std::move(other.improvements[i]));
  }
  count_work(other);
  if (options_.on_progress && !is_part_) options_.on_progress(progress());
}

void SearchRun::count_work(const SearchReport& within) {
  outcome_.expansions += within.expansions;
  outcome_.candidates += within.candidates;
  outcome_.steps += within.steps;
  outcome_.duplicates += within.duplicates;
  outcome_.forgotten += within.forgotten;
}

SearchOutcome SearchRun::finish() {
  outcome_.best.state = best_state();
  outcome_.seconds = elapsed();
  return std::move(outcome_);
}

std::shared_ptr<const Snapshot> SearchRun::best_state() const {
  return outcome_.best.state != nullptr ? outcome_.best.state
                                        : replay(*start_, outcome_.best.path.moves())->snapshot();
}

Reached successor(const Reached& from, const Move& move) {
  Reached next = {from.state->copy(), from.path};
  if (!next.state->apply(move)) return {};
  next.path.push_back(move);
  return next;
}

std::unique_ptr<Problem> replay(const Problem& start, std::span<const Move> path) {
  std::unique_ptr<Problem> state = start.copy();
  for (const Move& move : path) {
    REVERIE_CHECK(move.kind < state->kinds() && move.index < state->moves(move.kind));
    REVERIE_CHECK(state->apply(move), "a move of the path is refused");
  }
  return state;
}

Walk::Walk(SearchRun& run, Reached from) : run_(run), at_(std::move(from)) { arrive(); }

void Walk::arrive() {
  const double cost = at_.state->cost();
  run_.reached(*at_.state, at_.path);
  least_cost_ = std::min(least_cost_, cost);
  if (!at_.state->feasible()) return;
  least_feasible_ = std::min(least_feasible_, cost);
  if (run_.improves(cost)) run_.improve({cost, at_.path});
}

double Walk::change(const Move& move) {
  run_.count_candidate();
  return at_.state->change(move);
}

bool Walk::take(const Move& move) {
  if (!at_.state->apply(move)) return false;
  run_.count_step();
  at_.path.push_back(move);
  arrive();
  return true;
}

void Walk::follow(std::span<const Move> moves) {
  for (const Move& move : moves)
    if (run_.out_of_time() || !take(move)) return;
}

std::optional<Move> draw_move(const Problem& state, Rng& rng) {
  std::vector<int> usable;
  for (int kind = 0; kind < state.kinds(); ++kind)
    if (state.moves(kind) > 0) usable.push_back(kind);
  if (usable.empty()) return std::nullopt;
  const int kind = usable[rng.below(usable.size())];
  return state.move(kind, static_cast<int>(rng.below(static_cast<uint64_t>(state.moves(kind)))));
}

void begin_greedily(SearchRun& run) {
  Walk walk(run);
  descend(walk, run);
}

void finish_greedily(SearchRun& run) {
  Walk walk(run);
  walk.follow(run.best_path().moves());
  descend(walk, run);
}

double mean_gain(const SearchRun& run) {
  const double gained = run.initial_cost() - run.best_cost();
  if (gained > 0 && !run.best_path().empty())
    return gained / static_cast<double>(run.best_path().size());
  return run.initial_cost() == 0 ? 1 : std::abs(run.initial_cost()) / 1000;
}

size_t walk_length(const SearchRun& run) {
  constexpr size_t kLeastSteps = 10;
  return std::max(kLeastSteps, run.best_path().size() * 3 / 2);
}

void run_walks(SearchRun& run, int64_t count,
               const std::function<void(SearchRun& part, int64_t index)>& walk) {
  WorkerPool* pool = run.pool();
  if (pool == nullptr) {
    for (int64_t i = 0; i < count && !run.out_of_time(); ++i) walk(run, i);
    return;
  }
  const int64_t round = int64_t{4} * pool->workers();
  for (int64_t begin = 0; begin < count && !run.out_of_time(); begin += round) {
    const auto size = static_cast<size_t>(std::min(round, count - begin));
    std::vector<SearchRun> parts(size, run.part());
    pool->run(size, [&](size_t i, int) {
      if (!run.must_stop()) walk(parts[i], begin + static_cast<int64_t>(i));
    });
    for (SearchRun& part : parts) run.merge(std::move(part));
  }
}

std::string_view name_of(StoppedBy reason) {
  switch (reason) {
    case StoppedBy::kExhausted:
      return "exhausted";
    case StoppedBy::kBudget:
      return "budget";
    case StoppedBy::kTimeLimit:
      return "time limit";
    case StoppedBy::kInterrupt:
      return "interrupt";
  }
  return "unknown";
}

}  // namespace reverie
