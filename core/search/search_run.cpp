#include "core/search/search_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace reverie {
namespace {

int64_t most_weights(int64_t bytes, double growth) {
  constexpr auto kNoLimit = std::numeric_limits<int64_t>::max();
  const double most = std::floor(static_cast<double>(bytes) * growth);
  return growth > 0 && most < static_cast<double>(kNoLimit) ? static_cast<int64_t>(most) : kNoLimit;
}

double now(const SearchOptions& options) {
  if (options.clock) return options.clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

SearchRun::SearchRun(const RewriteState& start, const SearchOptions& options)
    : start_(start),
      options_(options),
      begin_(now(options)),
      start_weight_bytes_(start.graph().weight_bytes()),
      weight_limit_(most_weights(start_weight_bytes_, options.max_weight_growth)) {
  if (options.threads > 1) pool_ = std::make_shared<WorkerPool>(options.threads);
  result_.initial_cost = result_.best_cost = start.cost();
  result_.trace.push_back(progress());
}

double SearchRun::elapsed() const { return now(options_) - begin_; }

SearchProgress SearchRun::progress() const {
  return {elapsed(), result_.expansions, result_.candidates, result_.best_cost};
}

bool SearchRun::allows(const Reached& from, const Match& match) const {
  if (options_.max_weight_growth <= 0) return true;
  return allows_weights(from.weight_bytes + from.state.propose(match).weight_bytes_delta);
}

bool SearchRun::must_stop(double ahead) const {
  return options_.stop.requested() ||
         (options_.time_limit > 0 && elapsed() + ahead >= options_.time_limit);
}

bool SearchRun::out_of_time(double ahead) {
  if (!must_stop(ahead)) return false;
  result_.stopped_by =
      options_.stop.requested() ? StoppedBy::kInterrupt : StoppedBy::kTimeLimit;
  return true;
}

void SearchRun::count_expansion() {
  ++result_.expansions;
  if (options_.on_progress && !is_part_) options_.on_progress(progress());
}

void SearchRun::reached(const RewriteState& state, const std::vector<RewriteStep>& path) {
  if (!best_graph_ && state.cost() == result_.best_cost && path == result_.rewrites)
    best_graph_ = state.graph();
  if (options_.on_state) options_.on_state(state, path);
}

void SearchRun::improve(const Cost& cost, std::vector<RewriteStep> path) {
  record({cost, std::move(path), {}});
}

void SearchRun::improve(const Cost& cost, const Graph& graph) { record({cost, {}, graph}); }

void SearchRun::record(Improvement improvement) {
  REVERIE_CHECK_LT(improvement.cost.runtime.count, result_.best_cost.runtime.count);
  result_.best_cost = improvement.cost;
  result_.rewrites = improvement.rewrites;
  best_graph_ = improvement.graph;
  result_.improvements.push_back(std::move(improvement));
  result_.trace.push_back(progress());
}

SearchRun SearchRun::part() const {
  SearchRun part = *this;
  part.is_part_ = true;
  part.pool_ = nullptr;
  part.best_graph_ = std::nullopt;
  part.result_ = {};
  part.result_.initial_cost = part.result_.best_cost = result_.initial_cost;
  return part;
}

void SearchRun::merge(SearchRun part) {
  SearchResult& other = part.result_;
  for (size_t i = 0; i < other.improvements.size(); ++i) {
    if (!improves(other.improvements[i].cost)) continue;
    SearchProgress point = other.trace[i];
    point.seconds = std::max(point.seconds, result_.trace.back().seconds);
    point.expansions += result_.expansions;
    point.candidates += result_.candidates;
    result_.trace.push_back(point);
    result_.best_cost = point.best;
    result_.rewrites = other.improvements[i].rewrites;
    best_graph_ = other.improvements[i].graph;
    result_.improvements.push_back(std::move(other.improvements[i]));
  }
  count_work(other);
  if (options_.on_progress && !is_part_) options_.on_progress(progress());
}

void SearchRun::count_work(const SearchResult& within) {
  result_.expansions += within.expansions;
  result_.candidates += within.candidates;
  result_.steps += within.steps;
  result_.duplicates += within.duplicates;
  result_.forgotten += within.forgotten;
}

SearchResult SearchRun::finish() {
  result_.best = best_graph();
  result_.seconds = elapsed();
  return std::move(result_);
}

Graph SearchRun::best_graph() const {
  if (best_graph_) return *best_graph_;
  const RewriteState best = replay(start_, result_.rewrites);
  REVERIE_CHECK(best.cost() == result_.best_cost, "the best path costs {} ps by difference, {} ps",
                result_.best_cost.runtime.count, best.cost().runtime.count);
  return best.graph();
}

Reached successor(const Reached& from, const RewriteStep& step, const Match& match) {
  Reached next = from;
  const Rewrite rewrite = next.state.propose(match);
  next.state.commit(rewrite);
  next.weight_bytes += rewrite.weight_bytes_delta;
  next.path.push_back(step);
  return next;
}

Walk::Walk(SearchRun& run, Reached from)
    : run_(run), at_(std::move(from)), least_cost_(at_.state.cost()) {
  arrive();
}

void Walk::arrive() {
  const Cost& cost = at_.state.cost();
  run_.reached(at_.state, at_.path);
  if (cost.runtime < least_cost_.runtime) least_cost_ = cost;
  if (run_.improves(cost)) run_.improve(cost, at_.path);
}

const Match& Walk::match(const RewriteStep& step) const {
  return at_.state.locations(step.rule)[static_cast<size_t>(step.location)];
}

Picoseconds Walk::change(const RewriteStep& step) {
  run_.count_candidate();
  return at_.state.cost_delta(match(step)).runtime;
}

bool Walk::take(const RewriteStep& step) {
  const Rewrite rewrite = at_.state.propose(match(step));
  if (!run_.allows_weights(at_.weight_bytes + rewrite.weight_bytes_delta)) return false;
  at_.state.commit(rewrite);
  run_.count_step();
  at_.weight_bytes += rewrite.weight_bytes_delta;
  at_.path.push_back(step);
  arrive();
  return true;
}

void Walk::follow(std::span<const RewriteStep> steps) {
  for (const RewriteStep& step : steps)
    if (run_.out_of_time() || !take(step)) return;
}

std::optional<RewriteStep> draw_step(const RewriteState& state, Rng& rng) {
  std::vector<int> usable;
  for (int rule = 0; rule < state.rules().size(); ++rule)
    if (state.location_count(rule) > 0) usable.push_back(rule);
  if (usable.empty()) return std::nullopt;
  const int rule = usable[rng.below(usable.size())];
  const auto count = static_cast<uint64_t>(state.location_count(rule));
  return RewriteStep{rule, static_cast<int>(rng.below(count))};
}

void begin_greedily(SearchRun& run) {
  Walk walk(run);
  descend(walk, run);
}

void finish_greedily(SearchRun& run) {
  if (!run.options().finish) return;
  Walk walk(run);
  const std::vector<RewriteStep> path = run.best_path();
  walk.follow(path);
  descend(walk, run);
}

Picoseconds mean_gain(const SearchRun& run) {
  const int64_t initial = run.initial_cost().runtime.count;
  const auto steps = static_cast<int64_t>(run.best_path().size());
  if (steps == 0) return {std::max<int64_t>(initial / 1000, 1)};
  return {std::max<int64_t>((initial - run.best_cost().runtime.count) / steps, 1)};
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

RewriteState replay(const RewriteState& start, std::span<const RewriteStep> path) {
  RewriteState state = start;
  for (const RewriteStep& step : path) {
    const auto& locations = state.locations(step.rule);
    REVERIE_CHECK_LT(step.location, static_cast<int>(locations.size()));
    state.commit(state.propose(locations[static_cast<size_t>(step.location)]));
  }
  return state;
}

std::string_view name_of(StoppedBy reason) {
  switch (reason) {
    case StoppedBy::kExhausted: return "exhausted";
    case StoppedBy::kBudget: return "budget";
    case StoppedBy::kTimeLimit: return "time limit";
    case StoppedBy::kInterrupt: return "interrupt";
  }
  return "unknown";
}

}  // namespace reverie
