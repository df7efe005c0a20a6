#include "core/cost/weighted_costs.h"

#include <algorithm>
#include <utility>

namespace reverie {

std::vector<CostFeature> features_of(const std::string& op, const std::string& text,
                                     const Cost& cost, double small) {
  const double p = cost.runtime.seconds();
  return {{"operator " + op, p},
          {"launch", small * static_cast<double>(cost.launches)},
          {text, std::max(p, small)}};
}

WeightedCosts::WeightedCosts(std::string name, std::shared_ptr<CostModel> prior, double scale,
                             double small, FeatureWeights weights, Unseen unseen)
    : name_(std::move(name)),
      prior_(std::move(prior)),
      scale_(scale),
      small_(small),
      weights_(std::move(weights)),
      unseen_(std::move(unseen)) {}

Cost WeightedCosts::cost(const OpSignature& signature) {
  lookups_.fetch_add(1, std::memory_order_relaxed);
  return cache_.find_or(signature, [&] {
    Cost cost = prior_->cost(signature);
    const std::string text = signature.text();
    double seconds = scale_ * cost.runtime.seconds();
    for (const auto& [name, value] : features_of(signature.op->name, text, cost, small_)) {
      const auto known = weights_.find(name);
      seconds += value * (known != weights_.end() ? known->second : unseen_(name));
    }
    cost.runtime = Picoseconds::from_seconds(std::max(seconds, 0.0));
    cost.estimated = weights_.contains(text) ? Picoseconds{} : cost.runtime;
    return cost;
  });
}

CostModel::Counters WeightedCosts::counters() const {
  Counters counters = prior_->counters();
  counters.lookups = lookups_.load();
  return counters;
}

}  // namespace reverie
