#include "core/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie {
namespace {

std::vector<double> ascending(std::span<const double> samples) {
  REVERIE_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double middle_of(const std::vector<double>& sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

std::vector<size_t> ascending_order(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return values[i] < values[j]; });
  return order;
}

/// Ranks from 1 on; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> values) {
  const std::vector<size_t> order = ascending_order(values);
  std::vector<double> result(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i)
      result[order[i]] = static_cast<double>(begin + 1 + end) / 2;
  }
  return result;
}

void check_strata(const Strata& strata) {
  REVERIE_CHECK(!strata.empty());
  for (const std::vector<double>& stratum : strata) REVERIE_CHECK(!stratum.empty());
}

/// Of each sample, stratum by stratum, the weight with which all strata weigh the same; 1 where
/// they have equally many samples.
std::vector<double> equal_strata(const Strata& strata) {
  size_t samples = 0;
  for (const std::vector<double>& stratum : strata) samples += stratum.size();
  std::vector<double> weights;
  for (const std::vector<double>& stratum : strata)
    weights.insert(
        weights.end(), stratum.size(),
        static_cast<double>(samples) / static_cast<double>(strata.size() * stratum.size()));
  return weights;
}

/// Draws as many samples of each stratum, with replacement.
void resample(const Strata& strata, Rng& rng, Strata& drawn) {
  for (size_t s = 0; s < strata.size(); ++s)
    for (double& sample : drawn[s]) sample = strata[s][rng.below(strata[s].size())];
}

/// The interval of figures, one for each resample.
Estimate estimate(double value, const BootstrapOptions& options,
                  const std::function<double()>& of_resample) {
  REVERIE_CHECK(options.resamples > 0);
  std::vector<double> figures;
  for (int i = 0; i < options.resamples; ++i) figures.push_back(of_resample());
  const std::vector<double> sorted = ascending(figures);
  const double tail = (1 - options.confidence) / 2;
  return {value, quantile(sorted, tail), quantile(sorted, 1 - tail)};
}

double mean_of_means(const Strata& strata) {
  double sum = 0;
  for (const std::vector<double>& stratum : strata) sum += mean(stratum);
  return sum / static_cast<double>(strata.size());
}

/// Of all pairs the share in which that of `a` is larger, equal ones half.
double share_above(std::span<const double> a, std::span<const double> b) {
  double above = 0;
  for (const double x : a)
    for (const double y : b) above += x > y ? 1 : x == y ? 0.5 : 0;
  return above / static_cast<double>(a.size() * b.size());
}

double mean_share_above(const Strata& a, const Strata& b) {
  double sum = 0;
  for (size_t s = 0; s < a.size(); ++s) sum += share_above(a[s], b[s]);
  return sum / static_cast<double>(a.size());
}

}  // namespace

double mean(std::span<const double> samples) {
  REVERIE_CHECK(!samples.empty());
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double median(std::span<const double> samples) { return middle_of(ascending(samples)); }

double interquartile_mean(std::span<const double> samples) {
  return interquartile_mean(samples, std::vector<double>(samples.size(), 1));
}

double interquartile_mean(std::span<const double> samples, std::span<const double> weights) {
  REVERIE_CHECK(!samples.empty() && samples.size() == weights.size());
  const size_t n = samples.size();
  const double whole = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double cut = whole * static_cast<double>(n / 4) / static_cast<double>(n);
  double sum = 0, kept = 0, passed = 0;
  for (const size_t i : ascending_order(samples)) {
    const double begin = std::max(passed, cut);
    passed += weights[i];
    const double part = std::min(passed, whole - cut) - begin;
    if (part <= 0) continue;
    sum += part * samples[i];
    kept += part;
  }
  return sum / kept;
}

double quantile(std::span<const double> ascending, double share) {
  REVERIE_CHECK(!ascending.empty() && share >= 0 && share <= 1);
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  const double part = place - static_cast<double>(below);
  return ascending[below] + part * (ascending[above] - ascending[below]);
}

MedianInterval median_interval(std::span<const double> samples) {
  const std::vector<double> sorted = ascending(samples);
  const auto n = static_cast<double>(sorted.size());
  const size_t last = sorted.size() - 1;
  const double half = 0.98 * std::sqrt(n);
  // Ranks of the theorem count from 1.
  const auto low = static_cast<int64_t>(std::floor(n / 2 - half)) - 1;
  const auto high = static_cast<int64_t>(std::ceil(n / 2 + 1 + half)) - 1;
  return {.median = middle_of(sorted),
          .low = sorted[static_cast<size_t>(std::max<int64_t>(low, 0))],
          .high = sorted[std::min(static_cast<size_t>(high), last)],
          .samples = static_cast<int>(sorted.size())};
}

double spearman(std::span<const double> a, std::span<const double> b) {
  REVERIE_CHECK(!a.empty() && a.size() == b.size());
  const std::vector<double> rank_a = ranks(a), rank_b = ranks(b);
  const double middle = static_cast<double>(a.size() + 1) / 2;
  double both = 0, own_a = 0, own_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (rank_a[i] - middle) * (rank_b[i] - middle);
    own_a += (rank_a[i] - middle) * (rank_a[i] - middle);
    own_b += (rank_b[i] - middle) * (rank_b[i] - middle);
  }
  return own_a * own_b > 0 ? both / std::sqrt(own_a * own_b) : 0;
}

Estimate stratified_bootstrap(const Strata& strata,
                              const std::function<double(std::span<const double>)>& statistic,
                              const BootstrapOptions& options) {
  check_strata(strata);
  Rng rng(options.seed);
  std::vector<double> pool;
  for (const std::vector<double>& stratum : strata)
    pool.insert(pool.end(), stratum.begin(), stratum.end());
  const double value = statistic(pool);
  return estimate(value, options, [&] {
    auto at = pool.begin();
    for (const std::vector<double>& stratum : strata)
      for (size_t i = 0; i < stratum.size(); ++i) *at++ = stratum[rng.below(stratum.size())];
    return statistic(pool);
  });
}

Estimate aggregate(const Strata& strata, const BootstrapOptions& options) {
  const std::vector<double> weights = equal_strata(strata);
  const auto statistic = [&](std::span<const double> pool) {
    return interquartile_mean(pool, weights);
  };
  return stratified_bootstrap(strata, statistic, options);
}

Estimate mean_over_strata(const Strata& strata, const BootstrapOptions& options) {
  check_strata(strata);
  Rng rng(options.seed);
  Strata drawn = strata;
  return estimate(mean_of_means(strata), options, [&] {
    resample(strata, rng, drawn);
    return mean_of_means(drawn);
  });
}

Estimate paired_difference(const Strata& a, const Strata& b, const BootstrapOptions& options) {
  REVERIE_CHECK_EQ(a.size(), b.size());
  Strata differences = a;
  for (size_t s = 0; s < a.size(); ++s) {
    REVERIE_CHECK_EQ(a[s].size(), b[s].size());
    for (size_t i = 0; i < a[s].size(); ++i) differences[s][i] -= b[s][i];
  }
  return mean_over_strata(differences, options);
}

Estimate probability_of_improvement(const Strata& a, const Strata& b,
                                    const BootstrapOptions& options) {
  REVERIE_CHECK_EQ(a.size(), b.size());
  check_strata(a);
  check_strata(b);
  Rng rng(options.seed);
  Strata drawn_a = a, drawn_b = b;
  return estimate(mean_share_above(a, b), options, [&] {
    resample(a, rng, drawn_a);
    resample(b, rng, drawn_b);
    return mean_share_above(drawn_a, drawn_b);
  });
}

}  // namespace reverie
