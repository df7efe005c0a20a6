#include "core/cost/scaled_estimates.h"

#include <algorithm>
#include <cmath>

#include "core/base/statistics.h"

namespace reverie {
namespace {

double ratio(const TableEntry& entry) {
  return static_cast<double>(entry.runtime.count) /
         static_cast<double>(std::max<int64_t>(entry.estimate.count, 1));
}

/// How far two amounts of work are apart: the sum of the logarithms of their ratios.
double distance(const TableEntry& entry, const Cost& work) {
  const auto apart = [](int64_t a, int64_t b) {
    return std::abs(std::log1p(static_cast<double>(a)) - std::log1p(static_cast<double>(b)));
  };
  return apart(entry.flops, work.flops) + apart(entry.bytes, work.bytes);
}

}  // namespace

void ScaledEstimates::add(const std::string& signature, const TableEntry& entry) {
  by_op_[op_of(signature)].push_back(entry);
}

Picoseconds ScaledEstimates::of(const OpSignature& signature, const Cost& work) const {
  const auto estimate = static_cast<double>(roofline_time(device_, signature).count);
  const auto same_op = by_op_.find(signature.op->name);
  if (same_op == by_op_.end()) return {std::llround(estimate * typical_ratio())};
  const auto& all = same_op->second;
  const auto nearest = std::min_element(all.begin(), all.end(), [&](auto& a, auto& b) {
    return distance(a, work) < distance(b, work);
  });
  return {std::llround(estimate * ratio(*nearest))};
}

double ScaledEstimates::typical_ratio() const {
  std::vector<double> ratios;
  for (const auto& [op, entries] : by_op_)
    for (const TableEntry& entry : entries) ratios.push_back(ratio(entry));
  return ratios.empty() ? 1 : median(ratios);
}

}  // namespace reverie
