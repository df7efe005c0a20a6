#include "env/rewrite/search/measured_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reverie {
namespace {

constexpr double kDeviationsOfAnInterval = 2 * 1.96;  // the width of one of 95%
constexpr size_t kFinalists = 3;

/// One thread, silent: a search within a search.
RewriteSearchOptions quiet(RewriteSearchOptions options) {
  options.threads = 1;
  options.on_progress = nullptr;
  options.on_state = nullptr;
  return options;
}

}  // namespace

MeasuredRun::MeasuredRun(const RewriteState& start, const RewriteSearchOptions& options,
                         const MeasuredOptions& measured, const NewTimer& new_timer)
    : start_(start),
      options_(quiet(options)),
      measured_(measured),
      walks_(start_, options_),
      measure_(new_timer(start.graph())) {
  add(start, {});
}

double MeasuredRun::Measured::mean() const {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

RewriteSearchOptions MeasuredRun::options_within(double share) const {
  RewriteSearchOptions options = options_;
  if (options.time_limit > 0)
    options.time_limit = std::max(share * (options.time_limit - walks_.elapsed()), 1e-9);
  return options;
}

int64_t MeasuredRun::kept_back() const { return std::min(measured_.again, measured_.budget / 5); }

bool MeasuredRun::over() {
  if (walks_.out_of_time()) return true;
  if (spent() < measured_.budget - kept_back()) return false;
  walks_.out_of_budget();
  return true;
}

bool MeasuredRun::measure(std::span<const RewriteStep> path) {
  if (over()) return false;
  const RewriteState state = replay(start_, path);
  if (known_.contains(state.hash())) return false;
  add(state, path);
  return true;
}

std::optional<double> MeasuredRun::seconds(std::span<const RewriteStep> path) {
  const RewriteState state = replay(start_, path);
  if (!known_.contains(state.hash())) {
    if (over() || !walks_.allows_weights(state.graph().weight_bytes())) return std::nullopt;
    add(state, path);
  }
  return std::find_if(graphs_.begin(), graphs_.end(),
                      [&](const Measured& graph) { return graph.hash == state.hash(); })
      ->mean();
}

void MeasuredRun::add(const RewriteState& state, std::span<const RewriteStep> path) {
  known_.insert(state.hash());
  graphs_.push_back({.hash = state.hash(),
                     .path = {path.begin(), path.end()},
                     .cost = state.cost(),
                     .counts = count_signatures(state.graph()),
                     .times = {}});
  time(graphs_.back(), state);
  note_improvement();
}

void MeasuredRun::time(Measured& graph, const RewriteState& state) {
  const MedianInterval time = measure_(state.graph());
  if (graph.times.empty()) graph.deviation = (time.high - time.low) / kDeviationsOfAnInterval;
  graph.times.push_back(time.median);
  report_.graphs = static_cast<int64_t>(graphs_.size());
  report_.trace.push_back({walks_.elapsed(), time.median, graphs_[best()].mean()});
  if (measured_.on_measured) measured_.on_measured(report_);
}

void MeasuredRun::note_improvement() {
  const Measured& graph = graphs_[best()];
  if (!trace_.empty() && best() == best_before_) return;
  best_before_ = best();
  trace_.push_back({walks_.elapsed(), 0, 0, static_cast<double>(graph.cost.runtime.count)});
  if (best() > 0) improvements_.push_back({graph.cost.runtime, path_of(graph.path), {}});
}

std::vector<CheapestStates::Entry> MeasuredRun::cheapest(const SearchMethod& search,
                                                         std::shared_ptr<CostModel> costs,
                                                         int64_t budget, uint64_t seed,
                                                         size_t most) {
  CheapestStates found(most, known_);
  RewriteSearchOptions options = options_within(0.5);
  options.budget = budget;
  options.seed = seed;
  options.on_state = [&](const RewriteState& state, std::span<const RewriteStep> path) {
    found.offer(state, path);
  };
  const SearchResult result =
      search({start_.graph(), start_.shared_rules(), std::move(costs)}, options);
  walks_.count_work(result);
  return found.entries();
}

std::vector<TimedGraph> MeasuredRun::timed() const {
  std::vector<TimedGraph> timed;
  for (const Measured& graph : graphs_)
    timed.push_back({graph.counts, graph.mean(), graph.deviation});
  return timed;
}

void MeasuredRun::note(const FittedCost& costs) {
  report_.scale = costs.scale();
  report_.deviation = costs.deviation();
  report_.mismatch = costs.mismatch();
}

std::vector<size_t> MeasuredRun::fastest(size_t most) const {
  std::vector<size_t> order(graphs_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return graphs_[a].mean() < graphs_[b].mean(); });
  order.resize(std::min(most, order.size()));
  return order;
}

/// Of the finalists, once there are any, and the original.
size_t MeasuredRun::best() const {
  if (finalists_.empty()) return fastest(1)[0];
  size_t best = 0;
  for (const size_t finalist : finalists_)
    if (graphs_[finalist].mean() < graphs_[best].mean()) best = finalist;
  return best;
}

void MeasuredRun::measure_again() {
  const int64_t count = std::min(kept_back(), measured_.budget - spent());
  if (count <= 0) return;
  finalists_ = fastest(kFinalists);
  for (int64_t i = 0; i < count && !walks_.must_stop(); ++i) {
    Measured& graph = graphs_[finalists_[static_cast<size_t>(i) % finalists_.size()]];
    time(graph, replay(start_, graph.path));
  }
}

SearchResult MeasuredRun::finish() {
  measure_again();
  report_.timed = timed();
  SearchResult result = walks_.finish();
  const Measured& chosen = graphs_[best()];
  result.best = replay(start_, chosen.path).graph();
  result.best_cost = chosen.cost;
  result.rewrites = chosen.path;
  result.trace = std::move(trace_);
  result.improvements = std::move(improvements_);
  result.measured = std::move(report_);
  return result;
}

}  // namespace reverie
