#include "core/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie {
namespace {

using Samples = std::vector<double>;

TEST(Statistics, MeanAndMedian) {
  EXPECT_EQ(mean(Samples{1, 2, 6}), 3);
  EXPECT_EQ(median(Samples{9, 1, 2}), 2);
  EXPECT_EQ(median(Samples{9, 1, 2, 4}), 3);
  EXPECT_THROW(mean(Samples{}), InternalError);
  EXPECT_THROW(median(Samples{}), InternalError);
}

/// As scipy.stats.trim_mean(x, 0.25) has them.
TEST(Statistics, TheInterquartileMeanLeavesOutAQuarterOnEitherSide) {
  EXPECT_EQ(interquartile_mean(Samples{7}), 7);
  EXPECT_EQ(interquartile_mean(Samples{1, 2, 6}), 3);
  EXPECT_EQ(interquartile_mean(Samples{1000, 3, 2, -1000}), 2.5);
  EXPECT_EQ(interquartile_mean(Samples{100, 8, 1, 2, 5, 6, 3, -50, 4}), 4);  // 2 3 4 5 6
}

TEST(Statistics, WeightsOfTheInterquartileMeanCutWithinASample) {
  const Samples samples{8, 1, 100, -100};  // 1.5 of 6 is left out on either side
  EXPECT_EQ(interquartile_mean(samples, Samples{1, 2, 1, 2}), (0.5 * -100 + 2 * 1 + 0.5 * 8) / 3);
  EXPECT_EQ(interquartile_mean(samples, Samples{3, 3, 3, 3}), 4.5);
  EXPECT_THROW(interquartile_mean(samples, Samples{1}), InternalError);
}

TEST(Statistics, QuantilesAreLinearBetweenNeighbours) {
  const Samples samples{0, 10, 20, 40};
  EXPECT_EQ(quantile(samples, 0), 0);
  EXPECT_EQ(quantile(samples, 1), 40);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.5), 15);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.9), 34);
  EXPECT_EQ(quantile(Samples{3}, 0.7), 3);
}

TEST(MedianInterval, HasTheRanksOfTheTheorem) {
  Samples samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  const MedianInterval interval = median_interval(samples);
  EXPECT_EQ(interval.median, 50.5);
  EXPECT_EQ(interval.low, 40);   // floor(50 - 9.8)
  EXPECT_EQ(interval.high, 61);  // ceil(51 + 9.8)
  EXPECT_EQ(median_interval(Samples{3}).high, 3);
}

TEST(Spearman, ComparesRanksAlone) {
  EXPECT_DOUBLE_EQ(spearman(Samples{1, 2, 3, 4}, Samples{1, 10, 100, 1e9}), 1);
  EXPECT_DOUBLE_EQ(spearman(Samples{1, 2, 3, 4}, Samples{4, 3, 2, -5}), -1);
  // 1 - 6 sum d^2 / (n (n^2 - 1)), d = 1 -1 0 1 -1
  EXPECT_DOUBLE_EQ(spearman(Samples{1, 2, 3, 4, 5}, Samples{2, 1, 3, 5, 4}), 0.8);
}

TEST(Spearman, EqualValuesShareTheirRank) {
  // Ranks 1 2.5 2.5 4 against 1 2 3 4: 4.5 / sqrt(4.5 * 5).
  EXPECT_DOUBLE_EQ(spearman(Samples{1, 2, 2, 3}, Samples{1, 2, 3, 4}), 4.5 / std::sqrt(22.5));
  EXPECT_EQ(spearman(Samples{1, 1, 1}, Samples{1, 2, 3}), 0);
}

/// Two values in one stratum: resamples have means 0, 0.5, 0.5 and 1, so that the interval of 50%
/// is that of quantiles within the equal ones, and that of 95% is the whole range.
TEST(Bootstrap, HasTheQuantilesOfAllResamples) {
  const Strata strata{{0, 1}};
  const Estimate all = stratified_bootstrap(strata, mean);
  EXPECT_EQ(all.value, 0.5);
  EXPECT_EQ(all.low, 0);
  EXPECT_EQ(all.high, 1);
  const Estimate middle = stratified_bootstrap(strata, mean, {.confidence = 0.4});
  EXPECT_EQ(middle.low, 0.5);
  EXPECT_EQ(middle.high, 0.5);
}

TEST(Bootstrap, StrataAreNotMixed) {
  const Estimate constant = aggregate({{1, 1, 1}, {5, 5}});
  EXPECT_EQ(constant.low, constant.value);
  EXPECT_EQ(constant.high, constant.value);
  const Estimate single = stratified_bootstrap({{1}, {3}, {0, 10}}, mean);  // the last alone varies
  EXPECT_EQ(single.low, 1);
  EXPECT_EQ(single.high, 6);
}

TEST(Aggregate, StrataCountAlikeHoweverManyRunsTheyHave) {
  EXPECT_DOUBLE_EQ(aggregate({{30, 30}, {0}}).value, 15);
  EXPECT_DOUBLE_EQ(aggregate({{9}, {0, 0, 0, 0, 0, 0, 0, 0}}).value, 4.5);
  EXPECT_DOUBLE_EQ(aggregate({{0}, {9, 9, 9, 9, 9, 9, 9, 9}}).value, 4.5);
}

TEST(Aggregate, OfEquallyManyRunsIsThatOfAllTogether) {
  Rng rng(8);
  for (int runs = 1; runs < 8; ++runs) {
    Strata strata(3, Samples(static_cast<size_t>(runs)));
    Samples pool;
    for (Samples& stratum : strata)
      for (double& sample : stratum) pool.push_back(sample = rng.normal());
    EXPECT_EQ(aggregate(strata, {.resamples = 1}).value, interquartile_mean(pool)) << runs;
  }
}

TEST(Bootstrap, EqualSeedsGiveEqualIntervals) {
  Rng rng(3);
  Strata strata(4, Samples(7));
  for (Samples& stratum : strata)
    for (double& sample : stratum) sample = rng.normal();
  const Estimate one = aggregate(strata, {.seed = 5}), again = aggregate(strata, {.seed = 5});
  EXPECT_EQ(one.low, again.low);
  EXPECT_EQ(one.high, again.high);
  EXPECT_LT(one.low, one.value);
  EXPECT_GT(one.high, one.value);
  EXPECT_NE(one.low, aggregate(strata, {.seed = 6}).low);
}

TEST(Bootstrap, RefusesNothing) {
  EXPECT_THROW(aggregate({}), InternalError);
  EXPECT_THROW(aggregate({{1}, {}}), InternalError);
  EXPECT_THROW(paired_difference({{1, 2}}, {{1}}), InternalError);
  EXPECT_THROW(probability_of_improvement({{1}}, {{1}, {2}}), InternalError);
}

/// Strata far apart, as graphs are; runs spread by 1 around `shift` above their stratum's place.
Strata drawn(Rng& rng, int strata, int runs, double shift) {
  Strata result;
  for (int s = 0; s < strata; ++s) {
    result.emplace_back();
    for (int i = 0; i < runs; ++i) result.back().push_back(10.0 * s + shift + rng.normal());
  }
  return result;
}

/// How often the interval of 200 draws holds the true mean.
double coverage(int runs) {
  constexpr int kTrials = 200, kStrata = 6;
  Rng rng(17);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Estimate found = stratified_bootstrap(drawn(rng, kStrata, runs, 0), mean,
                                                {.resamples = 400, .seed = rng.bits()});
    held += found.low <= 25 && 25 <= found.high;
  }
  return static_cast<double>(held) / kTrials;
}

TEST(Bootstrap, HoldsTheTruthAboutAsOftenAsItSays) {
  const double of_many = coverage(40), of_few = coverage(5);
  EXPECT_GT(of_many, 0.92);
  EXPECT_LT(of_many, 0.98);
  EXPECT_GT(of_few, 0.86);
  EXPECT_LT(of_few, of_many);  // too narrow, as stated
}

TEST(PairedDifference, IsTakenPairByPair) {
  const Estimate found = paired_difference({{11, 1}, {7, 9}}, {{10, 0}, {4, 6}});
  EXPECT_EQ(found.value, 2);  // 1 in the one stratum, 3 in the other, however far its runs spread
  EXPECT_EQ(found.low, 2);
  EXPECT_EQ(found.high, 2);
}

TEST(PairedDifference, StrataCountAlike) {
  EXPECT_EQ(paired_difference({{1, 1, 1, 1}, {3}}, {{0, 0, 0, 0}, {0}}).value, 2);
}

TEST(ProbabilityOfImprovement, CountsPairsAndHalfTheTies) {
  EXPECT_EQ(probability_of_improvement({{2, 3}}, {{1}}).value, 1);
  EXPECT_EQ(probability_of_improvement({{1}}, {{1, 2}}).value, 0.25);
  EXPECT_EQ(probability_of_improvement({{2, 3}, {1}}, {{1}, {1}}).value, 0.75);
}

/// Two normal distributions a standard deviation apart: Phi(1 / sqrt(2)) = 0.7602.
TEST(ProbabilityOfImprovement, IsThatOfTheDistributions) {
  Rng rng(4);
  const Strata above = drawn(rng, 5, 200, 1), below = drawn(rng, 5, 200, 0);
  const Estimate found = probability_of_improvement(above, below, {.resamples = 200});
  EXPECT_NEAR(found.value, 0.7602, 0.02);
  EXPECT_LT(found.low, 0.7602);
  EXPECT_GT(found.high, 0.7602);
  EXPECT_LT(found.high - found.low, 0.08);
}

}  // namespace
}  // namespace reverie
