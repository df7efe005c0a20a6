#include "core/search/optimize.h"

#include <utility>

namespace reverie {

double Optimized::improvement_percent() const {
  const auto before = static_cast<double>(search.initial_cost.runtime.count);
  const auto after = static_cast<double>(search.best_cost.runtime.count);
  return before > 0 ? 100.0 * (before - after) / before : 0.0;
}

Optimized optimize(const Graph& graph, std::shared_ptr<const RuleSet> rules,
                   std::shared_ptr<CostModel> cost, const SearchMethod& method,
                   const OptimizeConfig& config) {
  const CostModel::Counters before = cost->counters();
  Optimized result;
  result.search = method(RewriteState(graph, std::move(rules), cost), config.search);
  result.cost_source = cost->name();
  result.cost_lookups = cost->counters().lookups - before.lookups;
  result.measurements = cost->counters().measurements - before.measurements;
  result.weight_bytes_before = graph.weight_bytes();
  result.weight_bytes_after = result.search.best.weight_bytes();
  result.verified = compare(graph, result.search.best, config.verify);
  return result;
}

}  // namespace reverie
