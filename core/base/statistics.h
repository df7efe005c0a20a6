#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace reverie {

double mean(std::span<const double> samples);
double median(std::span<const double> samples);
/// The mean of what is left without the floor(n / 4) smallest and the floor(n / 4) largest of n
/// samples.
double interquartile_mean(std::span<const double> samples);
/// Of samples that weigh differently: at either end floor(n / 4) / n of the whole weight is left
/// out, of the sample in which that ends a part. Equal weights give the same as none.
double interquartile_mean(std::span<const double> samples, std::span<const double> weights);
/// Of ascending samples, linear between neighbours: 0 gives the first, 1 the last.
double quantile(std::span<const double> ascending, double share);

/// The median of samples with its 95% interval by order statistics: of n sorted samples those at
/// ranks n/2 -+ 0.98 sqrt(n) (Le Boudec, "Performance Evaluation of Computer and Communication
/// Systems", 2010, theorem 2.1); no distribution is assumed. Below 6 samples the interval is their
/// whole range and holds the median with less than 95%.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  int samples = 0;

  /// Half the width of the interval as a share of the median.
  double spread() const { return median != 0 ? (high - low) / 2 / median : 0; }
};
MedianInterval median_interval(std::span<const double> samples);

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs. 0
/// where all values of one side are equal. As many of both, at least 1.
double spearman(std::span<const double> a, std::span<const double> b);

/// Samples in strata, none of them empty: a stratum is a task (a graph), a sample a run (a seed).
using Strata = std::vector<std::vector<double>>;

/// A figure with the interval that its bootstrap gives.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct BootstrapOptions {
  int resamples = 5000;
  double confidence = 0.95;
  uint64_t seed = 1;
};

/// Stratified percentile bootstrap (Agarwal et al., "Deep Reinforcement Learning at the Edge of the
/// Statistical Precipice", NeurIPS 2021, section 4.1): runs are drawn anew, with replacement,
/// within each stratum, as many as there are. The interval is of other seeds on the same tasks, not
/// of other tasks; a stratum with one run adds nothing to it. With few runs a stratum it is too
/// narrow: with five it holds the truth in about 91% of cases instead of 95% (a test counts).
/// `statistic` sees all samples of all strata together.
Estimate stratified_bootstrap(const Strata& strata,
                              const std::function<double(std::span<const double>)>& statistic,
                              const BootstrapOptions& options = {});

/// The interquartile mean over all runs of all strata, each run weighing 1 / (runs of its stratum):
/// a stratum with more runs counts no more than another.
Estimate aggregate(const Strata& strata, const BootstrapOptions& options = {});

/// The mean over strata of their means.
Estimate mean_over_strata(const Strata& strata, const BootstrapOptions& options = {});

/// The mean over strata of the mean of a - b, pair by pair: sample i of a stratum of `a` belongs to
/// sample i of that stratum of `b`. Pairs are drawn anew together.
Estimate paired_difference(const Strata& a, const Strata& b, const BootstrapOptions& options = {});

/// Probability of improvement (Agarwal et al., section 4.3): the mean over strata of the share of
/// pairs in which a run of `a` is above one of `b`, equal ones counted half. Any numbers of runs.
Estimate probability_of_improvement(const Strata& a, const Strata& b,
                                    const BootstrapOptions& options = {});

}  // namespace reverie
