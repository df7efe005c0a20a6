#include "core/search/search_run.h"

#include <cmath>
#include <utility>

namespace reverie {
namespace {

int64_t most_weights(int64_t bytes, double growth) {
  return growth > 0 ? static_cast<int64_t>(std::floor(static_cast<double>(bytes) * growth))
                    : std::numeric_limits<int64_t>::max();
}

}  // namespace

SearchRun::SearchRun(const RewriteState& start, const SearchOptions& options)
    : start_(start),
      options_(options),
      start_weight_bytes_(start.graph().weight_bytes()),
      weight_limit_(most_weights(start_weight_bytes_, options.max_weight_growth)) {
  result_.initial_cost = result_.best_cost = start.cost();
  result_.trace.push_back(progress());
}

double SearchRun::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

SearchProgress SearchRun::progress() const {
  return {elapsed(), result_.expansions, result_.candidates, result_.best_cost};
}

bool SearchRun::out_of_time() {
  if (options_.stop.requested()) {
    result_.stopped_by = StoppedBy::kInterrupt;
    return true;
  }
  if (options_.time_limit > 0 && elapsed() >= options_.time_limit) {
    result_.stopped_by = StoppedBy::kTimeLimit;
    return true;
  }
  return false;
}

void SearchRun::count_expansion() {
  ++result_.expansions;
  if (options_.on_progress) options_.on_progress(progress());
}

void SearchRun::improve(const Cost& cost, std::vector<RewriteStep> path) {
  REVERIE_CHECK_LT(cost.runtime.count, result_.best_cost.runtime.count);
  result_.best_cost = cost;
  result_.rewrites = std::move(path);
  result_.trace.push_back(progress());
}

SearchResult SearchRun::finish() {
  const RewriteState best = replay(start_, result_.rewrites);
  REVERIE_CHECK(best.cost() == result_.best_cost, "the best path costs {} ps by difference, {} ps",
                result_.best_cost.runtime.count, best.cost().runtime.count);
  result_.best = best.graph();
  result_.seconds = elapsed();
  return std::move(result_);
}

SearchResult SearchRun::finish(Graph best, SaturationReport report) {
  const Cost cost = graph_cost(start_.cost_model(), best);
  REVERIE_CHECK(cost == result_.best_cost, "the graph taken out costs {} ps by its nodes, {} ps",
                result_.best_cost.runtime.count, cost.runtime.count);
  result_.best = std::move(best);
  result_.saturation = std::move(report);
  result_.seconds = elapsed();
  return std::move(result_);
}

const Match& Walk::match(const RewriteStep& step) const {
  return state_.locations(step.rule)[static_cast<size_t>(step.location)];
}

Picoseconds Walk::change(const RewriteStep& step) {
  run_.count_candidate();
  return state_.cost_delta(match(step)).runtime;
}

bool Walk::take(const RewriteStep& step) {
  const Rewrite rewrite = state_.propose(match(step));
  if (!run_.allows_weights(weight_bytes_ + rewrite.weight_bytes_delta)) return false;
  state_.commit(rewrite);
  run_.count_step();
  weight_bytes_ += rewrite.weight_bytes_delta;
  path_.push_back(step);
  if (run_.improves(state_.cost())) run_.improve(state_.cost(), path_);
  return true;
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

std::span<const NamedMethod> search_methods() {
  static const std::vector<NamedMethod> methods = {{"greedy", greedy_search},
                                                   {"taso", taso_search},
                                                   {"rulelist", rule_list_search},
                                                   {"random", random_search},
                                                   {"saturation_greedy", saturation_greedy_search}};
  return methods;
}

}  // namespace reverie
