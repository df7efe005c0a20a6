#include "controller/validate/validation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "tests/support/first_choice.h"
#include "tests/support/latent_puzzle.h"
#include "tests/support/renamed_environment.h"
#include "tests/support/untrained_world.h"

namespace reverie {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;

/// Measures half of what costs promise, or nothing at all where nothing is promised.
class MeasurableToy : public ToyEnvironment {
 public:
  MeasurableToy(const ToyConfig& config, bool deterministic, bool measurable)
      : ToyEnvironment(config), spec_(ToyEnvironment::spec()) {
    spec_.deterministic = deterministic;
    spec_.measurable = measurable;
  }
  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t seed) override {
    ToyEnvironment::reset(seed);
    start_ = info().objective(spec_);
  }
  double measured_gain() const override {
    ++measured_;
    return spec_.improvement_percent(start_, info().best) / 2;
  }
  const EnvCounters& counters() const override {
    counters_ = ToyEnvironment::counters();
    counters_.measurements = measured_;
    return counters_;
  }
  std::unique_ptr<Environment> fork() const override {
    auto copy = std::make_unique<MeasurableToy>(*this);
    copy->measured_ = 0;
    return copy;
  }

 private:
  EnvSpec spec_;
  double start_ = 1;
  mutable int64_t measured_ = 0;
  mutable EnvCounters counters_;
};

constexpr ToyConfig kToy{.blocks = 2, .start_states = 4, .horizon = 8};

struct Judged {
  Validation validation;
  std::map<std::string, double> metrics;
  EnvCounters counters;
};

/// An untrained policy.
Judged judged(std::shared_ptr<Environment> environment, const ValidationConfig& config,
              uint64_t seed = 5) {
  const testing::UntrainedWorld world(environment->spec());
  torch::manual_seed(3);
  TrainerConfig trainer;
  trainer.policy.width = 16;
  const auto policy = make_trainer(world.world->spec(), trainer, seed);
  RealJudge judge(std::move(environment), world.encoder, world.world, config, seed);
  Judged result{judge.validate(policy->policy(), 0), {}, judge.counters()};
  for (const auto& [name, value] : result.validation.metrics) result.metrics[name] = value;
  return result;
}

Judged judged(bool deterministic, Measuring measure, bool measurable = true) {
  ValidationConfig config;
  config.sampled = 3;
  config.measure = measure;
  return judged(std::make_shared<MeasurableToy>(kToy, deterministic, measurable), config);
}

TEST(ValidationTest, WhatIsMeasuredDecides) {
  const Judged by_cost = judged(true, Measuring::kNever);
  const Judged measured = judged(true, Measuring::kAlways);
  EXPECT_GT(by_cost.validation.score.average, 0);
  EXPECT_NEAR(measured.validation.score.average, by_cost.validation.score.average / 2, 1e-9);
  EXPECT_NEAR(measured.validation.score.found, by_cost.validation.score.found / 2, 1e-9);
  for (const char* name : {"greedy", "sampled", "sampled_best"}) {
    const std::string of = name;
    EXPECT_EQ(measured.metrics.at(of + "_improvement"), by_cost.metrics.at(of + "_improvement"))
        << name;
    EXPECT_NEAR(measured.metrics.at(of + "_measured"), measured.metrics.at(of + "_improvement") / 2,
                1e-9)
        << name;
    EXPECT_THAT(by_cost.metrics, Not(Contains(Key(of + "_measured"))));
  }
  EXPECT_EQ(by_cost.counters.measurements, 0);
  EXPECT_EQ(measured.counters.measurements, 4 * (1 + 3) + 4 * RealJudge::kRepeats)
      << "the best state of each episode for real, and what measured best anew";
}

TEST(ValidationTest, TheBestEpisodeOfAStartGraphIsWhatAPolicyFinds) {
  ToyConfig one = kToy;
  one.start_states = 1;
  std::set<bool> greedy_is_best;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    ValidationConfig config;
    config.sampled = 1;
    const Judged single = judged(std::make_shared<ToyEnvironment>(one), config, seed);
    const double greedy = single.metrics.at("greedy_improvement");
    const double sampled = single.metrics.at("sampled_best_improvement");
    EXPECT_EQ(single.validation.score.found, std::max(greedy, sampled));
    EXPECT_EQ(single.validation.score.average, (greedy + sampled) / 2);
    if (greedy != sampled) greedy_is_best.insert(greedy > sampled);
    const Judged four = judged(std::make_shared<ToyEnvironment>(kToy), config, seed);
    EXPECT_GE(four.validation.score.found, four.metrics.at("greedy_improvement"));
    EXPECT_GE(four.validation.score.found, four.metrics.at("sampled_best_improvement"));
  }
  EXPECT_EQ(greedy_is_best.size(), 2u) << "now the one, now the other";
}

TEST(ValidationTest, TheBestEpisodeDoesNotCountWhereItIsLuck) {
  ValidationConfig config;
  config.sampled = 3;
  EnvSpec spec = ToyEnvironment(kToy).spec();
  spec.stochastic = true;
  const ValidationScore plain =
      judged(std::make_shared<ToyEnvironment>(kToy), config).validation.score;
  const ValidationScore score = judged(std::make_shared<testing::RenamedEnvironment>(
                                           std::make_unique<ToyEnvironment>(kToy), spec),
                                       config)
                                    .validation.score;
  EXPECT_LT(plain.average, plain.found);
  EXPECT_EQ(score.found, plain.average);
  EXPECT_EQ(score.average, plain.average);
  EXPECT_EQ(plain.repeats.size(), 0u);
  EXPECT_EQ(score.repeats.size(), 4u * (1 + 3)) << "each episode";
}

TEST(ValidationTest, WhereOutcomesAreChanceEveryValidationPlaysTheSameSeeds) {
  EnvSpec spec = ToyEnvironment(kToy).spec();
  const testing::UntrainedWorld world(spec);
  std::map<bool, int> same;
  for (const bool stochastic : {false, true}) {
    spec.stochastic = stochastic;
    RealJudge judge(
        std::make_shared<testing::RenamedEnvironment>(std::make_unique<ToyEnvironment>(kToy), spec),
        world.encoder, world.world, {}, 5);
    torch::manual_seed(3);
    const auto policy = make_trainer(world.world->spec(), {}, 5);
    const auto average = [&](int64_t update) {
      return judge.validate(policy->policy(), update).score.average;
    };
    const double first = average(0);
    for (int64_t update = 1; update < 5; ++update) same[stochastic] += average(update) == first;
  }
  EXPECT_LT(same[false], 4);
  EXPECT_EQ(same[true], 4);
}

/// The first look at what an episode found is as lucky as its number of steps says; a second look
/// is not.
class LuckyToy : public MeasurableToy {
 public:
  explicit LuckyToy(const ToyConfig& config) : MeasurableToy(config, false, true) {}
  double measured_gain() const override {
    return MeasurableToy::measured_gain() + 100 * counters().steps;
  }
  std::vector<double> measured_gains(int times) const override {
    std::vector<double> gains(static_cast<size_t>(times), MeasurableToy::measured_gain());
    for (size_t i = 0; i < gains.size(); ++i) gains[i] += static_cast<double>(i * i);
    return gains;
  }
  std::unique_ptr<Environment> fork() const override { return std::make_unique<LuckyToy>(*this); }
};

TEST(ValidationTest, WhatMeasuredBestIsMeasuredAnewAndLuckIsLeftBehind) {
  ValidationConfig config;
  const Judged lucky = judged(std::make_shared<LuckyToy>(kToy), config);
  EXPECT_GT(lucky.metrics.at("sampled_best_measured"), 100);
  const ValidationScore& score = lucky.validation.score;
  ASSERT_EQ(score.repeats.size(), static_cast<size_t>(RealJudge::kRepeats));
  EXPECT_NEAR(score.repeats[1] - score.repeats[0], 1, 1e-9) << "each the mean over start graphs";
  EXPECT_LE(score.repeats[0], 50) << "half of what costs promise";
  EXPECT_NEAR(score.found, score.repeats[2], 1e-9) << "their median";
}

TEST(ValidationTest, ItMeasuresByItselfWhereTheEnvironmentDoes) {
  EXPECT_EQ(judged(true, Measuring::kAuto).counters.measurements, 0);
  EXPECT_EQ(judged(false, Measuring::kAuto).counters.measurements, 36);
  EXPECT_EQ(judged(false, Measuring::kNever).counters.measurements, 0);
  EXPECT_EQ(judged(false, Measuring::kAuto, false).counters.measurements, 0) << "nor can it";
}

TEST(ValidationTest, ReplayedDreamsChooseNothingAndCostRealSteps) {
  ValidationConfig config;
  const Judged replayed = judged(std::make_shared<ToyEnvironment>(kToy), config);
  config.dreams = 0;
  const Judged without = judged(std::make_shared<ToyEnvironment>(kToy), config);
  EXPECT_EQ(without.validation.score.found, replayed.validation.score.found);
  EXPECT_EQ(without.validation.score.average, replayed.validation.score.average);
  EXPECT_LT(without.counters.steps, replayed.counters.steps);
  EXPECT_THAT(replayed.metrics, Contains(Key("invalid_action_rate")));
  EXPECT_THAT(without.metrics, Not(Contains(Key("invalid_action_rate"))));
}

TEST(ValidationTest, AnEnvironmentWithNothingToMeasureIsRefused) {
  ValidationConfig config;
  config.measure = Measuring::kAlways;
  const auto toy = std::make_shared<ToyEnvironment>(kToy);
  EXPECT_THROW(RealJudge(toy, nullptr, nullptr, config, 1), InputError)
      << "before anything is learned";
}

TEST(ValidationTest, BestEpisodesStandInTheOrderOfTheStartGraphs) {
  const ToyEnvironment toy(kToy);
  const testing::UntrainedWorld world(toy.spec());
  testing::FirstChoice policy;
  std::set<std::vector<double>> seen;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Rng rng(seed);
    EnvCounters counters;
    seen.insert(
        play_for_real(toy, world.encoder, world.world, policy, true, 1, false, rng, counters)
            .improvement.best);
  }
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_NE((*seen.begin())[0], (*seen.begin())[1]);
}

}  // namespace
}  // namespace reverie
