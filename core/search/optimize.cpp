#include "core/search/optimize.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "core/base/stopwatch.h"

namespace reverie {
namespace {

/// What is left of a limit; 0 still means none.
double left_of(double time_limit, const Stopwatch& watch) {
  constexpr double kNoTime = 1e-9;
  return time_limit > 0 ? std::max(time_limit - watch.seconds(), kNoTime) : 0;
}

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr int64_t kKibibyte = 1024;
  return usage.ru_maxrss * kKibibyte;
}

void confirm(const Graph& graph, const OptimizeConfig& config, Machine& machine, Optimized& result) {
  ContestOptions options;
  options.max_seconds = config.confirm_seconds;
  options.min_sittings = config.confirm_sittings;
  options.max_sittings = std::max(options.max_sittings, options.min_sittings);
  options.seed = config.search.seed;
  options.stop = config.search.stop;
  const ContestResult contest = confirm_end_to_end(graph, result.contenders, machine, options);
  if (options.stop.requested()) return;
  result.contest = contest;
  result.machine = machine.info();
  take_winner(graph, result.contenders, contest.winner, result.search);
}

}  // namespace

double improvement_percent(const Cost& before, const Cost& after) {
  const auto initial = static_cast<double>(before.runtime.count);
  const auto left = static_cast<double>(after.runtime.count);
  return initial > 0 ? 100.0 * (initial - left) / initial : 0.0;
}

Optimized optimize(const Graph& graph, std::shared_ptr<const RuleSet> rules,
                   std::shared_ptr<CostModel> cost, const SearchMethod& method,
                   const OptimizeConfig& config) {
  std::shared_ptr<Machine> machine;  // one that is not there is refused before the search
  if (config.confirm) machine = machine_beside(config.machine, config.cost);
  const CostModel::Counters before = cost->counters();
  Optimized result;
  SearchOptions options = config.search;
  const Stopwatch watch;
  const RewriteState start(graph, std::move(rules), cost);
  options.time_limit = left_of(options.time_limit, watch);
  result.search = method(start, options);
  result.peak_memory_bytes = peak_memory_bytes();
  result.promised = result.search.best_cost;
  result.contenders = contenders_of(start, result.search, config.contenders);
  if (config.confirm && !options.stop.requested()) confirm(graph, config, *machine, result);
  result.cost_source = cost->name();
  result.cost_lookups = cost->counters().lookups - before.lookups;
  result.measurements = cost->counters().measurements - before.measurements;
  result.estimates = cost->counters().estimates - before.estimates;
  result.operators = cost->counters().operators - before.operators;
  result.weight_bytes_before = graph.weight_bytes();
  result.weight_bytes_after = result.search.best.weight_bytes();
  if (config.verify.inputs > 0) result.verified = compare(graph, result.search.best, config.verify);
  return result;
}

}  // namespace reverie
