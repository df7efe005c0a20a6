#include "core/cost/fitted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/cost/roofline.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<CostModel> prior() { return make_roofline(device_profile("cpu")); }

/// Chains of one operator on vectors of one size, `count` of each.
struct Chain {
  std::string op;
  int64_t size = 0;
};
const std::vector<Chain>& chains() {
  static const std::vector<Chain> all = [] {
    std::vector<Chain> result;
    for (const char* op : {"Tanh", "Exp", "Sqrt", "Neg"})
      for (const int64_t size : {1 << 14, 1 << 16, 1 << 17}) result.push_back({op, size});
    return result;
  }();
  return all;
}

Graph graph_of(const std::vector<int>& counts) {
  Graph graph;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    ValueId value = graph.add_input("x" + std::to_string(i), {DType::kFloat32, {chains()[i].size}});
    for (int j = 0; j < counts[i]; ++j) value = graph.add(chains()[i].op, {value});
    graph.add_output("y" + std::to_string(i), value);
  }
  return graph;
}

std::vector<SignatureCount> only(size_t chain) {
  std::vector<int> counts(chains().size());
  counts[chain] = 1;
  return count_signatures(graph_of(counts));
}

std::vector<int> random_counts(Rng& rng) {
  std::vector<int> counts(chains().size());
  for (int& count : counts) count = static_cast<int>(rng.below(6));
  counts[rng.below(counts.size())] += 1;
  return counts;
}

/// What operators cost in truth: a multiple of the prior, drawn for each signature.
class Planted {
 public:
  Planted(double scale, double spread, uint64_t seed = 1)
      : prior_(prior()), scale_(scale), spread_(spread), seed_(seed) {}

  double seconds(const OpSignature& signature) {
    Rng rng(hash_combine(seed_, hash_string(signature.text())));
    return scale_ * std::exp(spread_ * rng.normal()) * prior_->cost(signature).runtime.seconds();
  }
  double seconds(const std::vector<SignatureCount>& counts) {
    double sum = 0;
    for (const auto& [signature, count] : counts)
      sum += static_cast<double>(count) * seconds(signature);
    return sum;
  }
  TimedGraph measure(const std::vector<int>& counts, Rng& rng, double noise = 0.005) {
    TimedGraph timed{.counts = count_signatures(graph_of(counts))};
    const double truth = seconds(timed.counts);
    timed.seconds = truth * (1 + noise * rng.normal());
    timed.deviation = truth * noise;
    return timed;
  }
  std::vector<TimedGraph> measure_some(int n, uint64_t seed = 1) {
    Rng rng(seed);
    std::vector<TimedGraph> measured;
    for (int i = 0; i < n; ++i) measured.push_back(measure(random_counts(rng), rng));
    return measured;
  }

 private:
  std::shared_ptr<CostModel> prior_;
  double scale_, spread_;
  uint64_t seed_;
};

TEST(CountSignatures, CountsWorkOnce) {
  const std::vector<SignatureCount> counts = count_signatures(graph_of({2, 0, 3, 1}));
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts[0].signature.text(), "Tanh(float32 16384)");
  EXPECT_EQ(counts[0].count, 2);
  EXPECT_EQ(counts[1].count, 3);
  EXPECT_EQ(counts[2].signature.op->name, "Exp");
}

TEST(Fitted, RecoversPlantedCostsFromNoisySums) {
  Planted truth(3, 0.4);
  const auto fitted = fitted_cost(prior(), truth.measure_some(150));
  for (size_t i = 0; i < chains().size(); ++i) {
    const OpSignature signature = only(i)[0].signature;
    const double seconds = fitted->cost(signature).runtime.seconds();
    EXPECT_NEAR(seconds / truth.seconds(signature), 1, 0.06) << signature.text();
  }
}

TEST(Fitted, WithoutMeasurementsItIsThePrior) {
  const auto fitted = fitted_cost(prior(), {});
  for (size_t i = 0; i < chains().size(); ++i)
    EXPECT_EQ(fitted->cost(only(i)[0].signature).runtime,
              prior()->cost(only(i)[0].signature).runtime);
  EXPECT_EQ(fitted->name(), "roofline:cpu fitted to 0 measurements");
  EXPECT_GT(fitted->predict(only(0)).deviation, 0);
}

TEST(Fitted, UnseenSignaturesFallBackToTheScaledPrior) {
  Planted truth(7, 0);
  Rng rng(1);
  std::vector<TimedGraph> measured;
  for (int i = 0; i < 20; ++i) {
    std::vector<int> counts = random_counts(rng);
    std::fill(counts.begin() + 3, counts.end(), 0);  // Tanh alone
    counts[0] += 1;
    measured.push_back(truth.measure(counts, rng, 0.001));
  }
  const auto fitted = fitted_cost(prior(), measured);
  EXPECT_NEAR(fitted->scale(), 7, 0.7);
  const OpSignature unseen = only(4)[0].signature;
  EXPECT_NEAR(fitted->cost(unseen).runtime.seconds() / prior()->cost(unseen).runtime.seconds(), 7,
              0.7);
}

TEST(Fitted, WhatOneShapeTeachesHoldsForTheOperator) {
  const auto three_times_tanh = [](const std::vector<int>& counts, Rng& rng) {
    TimedGraph timed{.counts = count_signatures(graph_of(counts))};
    for (const auto& [signature, count] : timed.counts)
      timed.seconds += static_cast<double>(count) * (signature.op->name == "Tanh" ? 3 : 1) *
                       prior()->cost(signature).runtime.seconds();
    timed.deviation = 0.001 * timed.seconds;
    timed.seconds *= 1 + 0.001 * rng.normal();
    return timed;
  };
  Rng rng(2);
  std::vector<TimedGraph> measured;
  for (int i = 0; i < 60; ++i) {
    std::vector<int> counts = random_counts(rng);
    counts[2] = 0;  // the largest Tanh
    counts[3] += 1;
    measured.push_back(three_times_tanh(counts, rng));
  }
  const auto fitted = fitted_cost(prior(), measured);
  const auto ratio = [&](size_t chain) {
    const OpSignature signature = only(chain)[0].signature;
    return fitted->cost(signature).runtime.seconds() / prior()->cost(signature).runtime.seconds();
  };
  EXPECT_GT(ratio(2), 1.5 * fitted->scale());
  EXPECT_NEAR(ratio(5), 1, 0.2);
}

TEST(Fitted, EqualMeasurementsGiveEqualCosts) {
  Planted truth(2, 0.3);
  const auto one = fitted_cost(prior(), truth.measure_some(30)),
             other = fitted_cost(prior(), truth.measure_some(30));
  for (size_t i = 0; i < chains().size(); ++i) {
    const OpSignature signature = only(i)[0].signature;
    EXPECT_EQ(one->cost(signature), other->cost(signature));
    EXPECT_EQ(one->sample(5)->cost(signature), other->sample(5)->cost(signature));
    EXPECT_NE(one->sample(5)->cost(signature), one->sample(6)->cost(signature));
  }
  EXPECT_TRUE(one->deterministic());
}

/// Spearman's rank correlation; no two values are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<double> result;
    for (const double value : values)
      result.push_back(static_cast<double>(std::count_if(
          values.begin(), values.end(), [&](double other) { return other < value; })));
    return result;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const auto n = static_cast<double>(a.size());
  double squares = 0;
  for (size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
  return 1 - 6 * squares / (n * (n * n - 1));
}

TEST(Fitted, RanksBetterTheMoreIsMeasured) {
  Planted truth(2, 0.6);
  std::vector<std::vector<SignatureCount>> graphs;
  std::vector<double> times;
  Rng rng(99);
  for (int i = 0; i < 60; ++i) {
    graphs.push_back(count_signatures(graph_of(random_counts(rng))));
    times.push_back(truth.seconds(graphs.back()));
  }
  const auto correlation = [&](int n) {
    const auto fitted = fitted_cost(prior(), truth.measure_some(n));
    std::vector<double> predicted;
    for (const auto& graph : graphs) predicted.push_back(fitted->predict(graph).seconds);
    return rank_correlation(predicted, times);
  };
  const double none = correlation(0), few = correlation(8), many = correlation(60);
  EXPECT_GT(few, none);
  EXPECT_GT(many, few);
  EXPECT_GT(many, 0.995);
}

TEST(Fitted, PredictsAsFarOffAsItIs) {
  Planted truth(2, 0.3);
  Rng rng(17);
  int within_one = 0, within_three = 0;
  constexpr int kGraphs = 300;
  for (int i = 0; i < kGraphs; ++i) {
    const auto fitted =
        fitted_cost(prior(), truth.measure_some(6 + i % 20, static_cast<uint64_t>(i)));
    const auto counts = count_signatures(graph_of(random_counts(rng)));
    const FittedCost::Prediction predicted = fitted->predict(counts);
    const double off = std::abs(predicted.seconds - truth.seconds(counts)) / predicted.deviation;
    within_one += off < 1;
    within_three += off < 3;
  }
  EXPECT_GT(within_one, kGraphs / 2);
  EXPECT_LT(within_one, kGraphs * 95 / 100);
  EXPECT_GT(within_three, kGraphs * 95 / 100);
}

TEST(Fitted, SamplesScatterAsPredicted) {
  Planted truth(2, 0.3);
  const auto fitted = fitted_cost(prior(), truth.measure_some(10));
  Rng rng(3);
  const auto counts = count_signatures(graph_of(random_counts(rng)));
  const FittedCost::Prediction predicted = fitted->predict(counts);
  double sum = 0, squares = 0;
  constexpr int kSamples = 2000;
  for (int i = 0; i < kSamples; ++i) {
    const auto sample = fitted->sample(static_cast<uint64_t>(i));
    double seconds = 0;
    for (const auto& [signature, count] : counts)
      seconds += static_cast<double>(count) * sample->cost(signature).runtime.seconds();
    sum += seconds, squares += seconds * seconds;
  }
  const double mean = sum / kSamples;
  const double deviation = std::sqrt(squares / kSamples - mean * mean);
  EXPECT_NEAR(mean / predicted.seconds, 1, 0.02);
  EXPECT_NEAR(deviation / predicted.deviation, 1, 0.1);
}

TEST(Fitted, MeasuringNarrowsThePrediction) {
  Planted truth(2, 0.3);
  const auto counts = only(0);
  const auto spread = [&](int n) {
    const auto prediction = fitted_cost(prior(), truth.measure_some(n))->predict(counts);
    return prediction.deviation / prediction.seconds;
  };
  EXPECT_GT(spread(3), spread(30));
  EXPECT_GT(spread(30), spread(200));
}

TEST(Fitted, IsNeverNegative) {
  Planted truth(2, 1.5);
  const auto fitted = fitted_cost(prior(), truth.measure_some(8));
  bool at_zero = false;
  for (uint64_t seed = 0; seed < 200; ++seed)
    for (size_t i = 0; i < chains().size(); ++i) {
      const Cost cost = fitted->sample(seed)->cost(only(i)[0].signature);
      EXPECT_GE(cost.runtime, Picoseconds{0});
      at_zero |= cost.runtime == Picoseconds{0};
    }
  EXPECT_TRUE(at_zero);  // else this tests nothing
}

TEST(Fitted, SaysThatItIsAnEstimate) {
  Planted truth(2, 0.3);
  const auto fitted = fitted_cost(prior(), truth.measure_some(7));
  EXPECT_EQ(fitted->source(), CostSource::kEstimated);
  EXPECT_EQ(fitted->name(), "roofline:cpu fitted to 7 measurements");
  const Cost cost = fitted->cost(only(1)[0].signature);
  EXPECT_EQ(cost.launches, 1);
  EXPECT_EQ(cost.bytes, prior()->cost(only(1)[0].signature).bytes);
  EXPECT_EQ(fitted->counters().lookups, 1);
}

TEST(Fitted, RefusesWhatCannotBeFitted) {
  Planted truth(2, 0.3);
  std::vector<TimedGraph> measured = truth.measure_some(3);
  measured[1].seconds = 0;
  EXPECT_THROW(fitted_cost(prior(), measured), InputError);
  measured[1] = {.counts = {}, .seconds = 1, .deviation = 0};
  try {
    const auto fitted = fitted_cost(prior(), measured);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("measurement 1"));
  }
}

}  // namespace
}  // namespace reverie
