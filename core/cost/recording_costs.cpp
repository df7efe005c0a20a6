#include "core/cost/recording_costs.h"

#include <algorithm>

namespace reverie {

Cost RecordingCosts::cost(const OpSignature& signature) {
  const Cost cost = inner_->cost(signature);
  if (cost.launches == 0) return cost;
  const uint64_t hash = signature.hash();
  const std::lock_guard lock(mutex_);
  const auto [first, last] = seen_.equal_range(hash);
  const bool known =
      std::any_of(first, last, [&](const auto& entry) { return entry.second == signature; });
  if (!known) seen_.emplace(hash, signature);
  return cost;
}

std::map<std::string, OpSignature> RecordingCosts::signatures() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, OpSignature> result;
  for (const auto& [hash, signature] : seen_) result.emplace(signature.text(), signature);
  return result;
}

}  // namespace reverie
