#include "core/cost/cached_costs.h"

#include "core/cost/work.h"

namespace reverie {

Cost CachedCosts::cost(const OpSignature& signature) {
  lookups_.fetch_add(1, std::memory_order_relaxed);
  return cache_.find_or(signature, [&] {
    Cost cost = work_of(signature);
    if (cost.launches == 0) return cost;
    const Time known = time(signature, cost);
    cost.runtime = known.runtime;
    if (known.estimated) cost.estimated = known.runtime, ++estimates_;
    ++operators_;
    return cost;
  });
}

CostModel::Counters CachedCosts::counters() const {
  return {.lookups = lookups_.load(),
          .measurements = measurements_.load(),
          .estimates = estimates_.load(),
          .operators = operators_.load()};
}

}  // namespace reverie
