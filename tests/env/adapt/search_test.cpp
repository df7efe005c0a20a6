#include "env/adapt/search.h"

#include <gtest/gtest.h>

#include <functional>

#include "env/adapt/linear_posterior.h"
#include "env/adapt/standing.h"
#include "tests/env/adapt/tables.h"

namespace reverie::testing {
namespace {

TEST(LinearPosterior, IsWhatRidgeRegressionSays) {
  // One weight: precision 1/4 + 2 x 1/0.25, mean (1 + 2) / 0.25 / precision.
  LinearPosterior one({0}, {2}, 0.5);
  one.observe({1}, 1);
  one.observe({1}, 2);
  EXPECT_NEAR(one.mean()[0], 3 / 0.25 / (0.25 + 2 / 0.25), 1e-12);

  // Far from the prior, exact data decide.
  LinearPosterior two({0, 0}, {100, 100}, 1e-3);
  two.observe({1, 0}, 5);
  two.observe({1, 1}, 3);
  EXPECT_NEAR(two.mean()[0], 5, 1e-4);
  EXPECT_NEAR(two.mean()[1], -2, 1e-4);
}

TEST(LinearPosterior, DrawsSpreadAsTheBeliefDoes) {
  LinearPosterior belief({1, 0}, {2, 2}, 1);
  belief.observe({1, 1}, 4);
  // By hand: covariance 4 I - 16 (1 1; 1 1) / 9.
  Rng rng(3);
  constexpr int kDraws = 20'000;
  double sum = 0, square = 0, cross = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto w = belief.draw(rng);
    const double a = w[0] - belief.mean()[0], b = w[1] - belief.mean()[1];
    sum += a;
    square += a * a;
    cross += a * b;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.05);
  EXPECT_NEAR(square / kDraws, 4 - 16.0 / 9, 0.1);
  EXPECT_NEAR(cross / kDraws, -16.0 / 9, 0.1);
}

/// The mean of a few seeds, of the points of accuracy below the best.
double regret(const std::function<Decisions(const AdaptStart&, int, uint64_t)>& search,
              int episodes) {
  const AdaptTable table = made_up_table({.rates = {0.001, 0.01}, .decisions = 3, .runs = 2});
  const AdaptStart start{table_source(table), table.final_epochs};
  double sum = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Standing found = standing(table, search(start, episodes, seed), table.final_epochs);
    sum += found.best - found.accuracy;
  }
  return sum / 5;
}

TEST(AdaptSearch, MoreJobsComeNearerToTheBest) {
  for (const auto search : {random_best, successive_halving, thompson}) {
    const double few = regret(search, 2), many = regret(search, 200);
    EXPECT_LT(many, 0.4 * few);
  }
}

/// All sequences of a table; a model expects their mean gains, plus `error` times a number drawn
/// for each decision at each place.
std::vector<ExpectedPlan> expected_plans(const AdaptTable& table, double error) {
  std::vector<ExpectedPlan> plans;
  for (const RecordedSequence& sequence : table.sequences) {
    ExpectedPlan plan{sequence.decisions, standing(table, sequence.decisions, 3).accuracy - 40};
    for (size_t place = 0; place < plan.decisions.size(); ++place) {
      const auto& decision = plan.decisions[place];
      const auto number = decision ? 2 * decision->origin + static_cast<int>(decision->kind) : 99;
      plan.gain += error * Rng(place).fork(static_cast<uint64_t>(number)).normal();
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

TEST(AdaptSearch, WhatAModelExpectsNeedsFewTrialsAndIsCorrectedByMany) {
  const AdaptTable table = made_up_table({.rates = {0.01}, .decisions = 3, .runs = 2});
  const AdaptStart start{table_source(table), 3};
  const auto regret_of = [&](double error, int episodes) {
    const std::vector<ExpectedPlan> plans = expected_plans(table, error);
    double sum = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const Standing found = standing(table, thompson_among(plans, start, episodes, seed), 3);
      sum += found.best - found.accuracy;
    }
    return sum / 5;
  };
  EXPECT_LT(regret_of(0, 1), 0.5 * regret(thompson, 1));
  EXPECT_LT(regret_of(1.5, 200), 0.3 * regret_of(1.5, 1));
}

TEST(AdaptSearch, IsTheSameWithTheSameSeed) {
  const AdaptTable table = made_up_table({.runs = 2});
  const AdaptStart start{table_source(table), 3};
  for (const auto search : {random_best, successive_halving, thompson})
    EXPECT_EQ(search(start, 9, 4), search(start, 9, 4));
  const std::vector<ExpectedPlan> plans = expected_plans(table, 2);
  EXPECT_EQ(thompson_among(plans, start, 9, 4), thompson_among(plans, start, 9, 4));
}

/// Counts the jobs that begin.
class Counting : public JobSource {
 public:
  explicit Counting(std::unique_ptr<JobSource> inner) : inner_(std::move(inner)) {}
  std::string name() const override { return inner_->name(); }
  std::string scenario() const override { return inner_->scenario(); }
  uint64_t fingerprint() const override { return inner_->fingerprint(); }
  int decisions() const override { return inner_->decisions(); }
  bool offers(const JobState& state, const ChangeAtRate& change) const override {
    return inner_->offers(state, change);
  }
  const std::vector<double>& rates() const override { return inner_->rates(); }
  bool deterministic() const override { return inner_->deterministic(); }
  std::unique_ptr<TrainingJob> start(uint64_t seed) const override {
    ++started;
    return inner_->start(seed);
  }
  mutable int started = 0;

 private:
  std::unique_ptr<JobSource> inner_;
};

TEST(AdaptSearch, PlaysAsManyJobsAsItMay) {
  const auto source = std::make_shared<Counting>(table_source(made_up_table({})));
  random_best({source, 3}, 7, 1);
  EXPECT_EQ(source->started, 7);
  source->started = 0;
  thompson({source, 3}, 7, 1);
  EXPECT_EQ(source->started, 7 + 1);  // a look at the start
  source->started = 0;
  successive_halving({source, 3}, 7, 1);
  EXPECT_EQ(source->started, 14 + 1);  // followed to a quarter, a half or the end
}

/// Made-up jobs whose network goes back after the first decision, as if processors left.
class GoingBack : public JobSource {
 public:
  std::string name() const override { return "going back"; }
  std::string scenario() const override { return training_.scenario; }
  uint64_t fingerprint() const override { return 0; }
  int decisions() const override { return training_.decisions; }
  bool offers(const JobState& state, const ChangeAtRate& change) const override {
    return std::ssize(state.decisions) < decisions() &&
           adapt::allows(state.network, change.in(state.network));
  }
  const std::vector<double>& rates() const override { return training_.rates; }
  bool deterministic() const override { return true; }
  std::unique_ptr<TrainingJob> start(uint64_t seed) const override {
    return std::make_unique<Job>(*this, seed);
  }

 private:
  class Job : public TrainingJob {
   public:
    Job(const GoingBack& source, uint64_t seed) : source_(source), seed_(seed) {}
    const JobState& state() const override { return state_; }
    void decide(const std::optional<ChangeAtRate>& decision) override {
      EXPECT_FALSE(decision && !source_.offers(state_, *decision));
      state_ = after_made_up(source_.training_, state_, seed_, decision);
      if (state_.decisions.size() == 1) state_.network = source_.training_.network;
    }
    std::unique_ptr<TrainingJob> copy() const override { return std::make_unique<Job>(*this); }

   private:
    const GoingBack& source_;
    uint64_t seed_;
    JobState state_ = made_up_start(source_.training_);
  };

  /// Its output block can be deepened, and then widened.
  static MadeUpTraining training() {
    MadeUpTraining training;
    training.network.blocks.back().relu = true;
    return training;
  }
  MadeUpTraining training_ = training();
};

TEST(AdaptSearch, APlanIsFollowedAsFarAsItIsOffered) {
  const GoingBack source;
  const auto followed = [&](const Decisions& plan) {
    const auto job = source.start(1);
    follow(plan, source, *job);
    EXPECT_TRUE(job->state().over);
    return decisions_text(job->state(), false);
  };
  const ChangeAtRate deepen_first{ChangeKind::kDeepen, 0, 0.01},
      widen_second{ChangeKind::kWiden, 2, 0.01}, deepen_output{ChangeKind::kDeepen, 4, 0.01},
      widen_output{ChangeKind::kWiden, 4, 0.01};
  EXPECT_EQ(followed({deepen_first, widen_second}), "deepen first, widen second");
  EXPECT_EQ(followed({deepen_output, widen_output}), "deepen output, go on");
  EXPECT_EQ(followed({deepen_output}), "deepen output, go on");
}

TEST(AdaptSearch, LearnsFromJobsWhoseNetworkGoesBack) {
  const AdaptStart start{std::make_shared<GoingBack>(), 3};
  for (const auto search : {random_best, successive_halving, thompson}) {
    const auto job = start.source->start(1);
    follow(search(start, 200, 1), *start.source, *job);
    EXPECT_TRUE(job->state().over);
  }
}

}  // namespace
}  // namespace reverie::testing
