#include "worldmodel/network/fit.h"

#include <gmock/gmock.h>

#include <limits>

#include "core/base/error.h"
#include "core/base/shuffle.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

/// Fits a number to 0; from the epoch `spoilt` on its validation says that it is none.
class Number : public FitProblem {
 public:
  int spoilt = std::numeric_limits<int>::max();
  uint64_t began_with = 0;

  Number() { torch::nn::init::constant_(module_->weight, 1); }
  torch::nn::Module& module() override { return *module_; }
  int begin_epoch(int epoch, Rng&) override {
    epoch_ = epoch + 1;
    return 1;
  }
  int size(int) const override { return 1; }
  LossTerms loss(int, Part, torch::Generator) override {
    LossTerms terms;
    terms.add("square", module_->weight.square().sum());
    return terms;
  }
  FitMetrics validate() override {
    const double square = module_->weight.square().sum().item<double>();
    return {{"loss", epoch_ < spoilt ? square : std::numeric_limits<double>::quiet_NaN()}};
  }
  Checkpoint checkpoint() const override {
    Checkpoint checkpoint;
    checkpoint.kind = "number";
    checkpoint.spec.actions = {"NO-OP"};
    checkpoint.spec.metrics = {{"number", ""}};
    checkpoint.spec.starts = {{"one", 1}};
    store_module(checkpoint, "number", *module_);
    return checkpoint;
  }
  void restore(const Checkpoint& checkpoint) override {
    restore_module(checkpoint, "number", *module_);
  }
  uint64_t origin() const override { return began_with; }
  torch::Tensor weight() const { return module_->weight; }

 private:
  torch::nn::Linear module_{torch::nn::LinearOptions(1, 1).bias(false)};
  int epoch_ = 0;
};

/// Fits a number to the mean of others, of which each minibatch has all.
class MeanOf : public FitProblem {
 public:
  explicit MeanOf(std::vector<double> others) : others_(std::move(others)) {
    torch::nn::init::constant_(module_->weight, 1);
  }
  torch::nn::Module& module() override { return *module_; }
  int begin_epoch(int, Rng&) override { return 1; }
  int size(int) const override { return static_cast<int>(others_.size()); }
  LossTerms loss(int, Part part, torch::Generator noise) override {
    noises.push_back(noise.current_seed());
    LossTerms terms;
    terms.add("square", distance(part_of(others_, part)));
    return terms;
  }
  FitMetrics validate() override { return {{"loss", distance(others_).item<double>()}}; }
  Checkpoint checkpoint() const override {
    Checkpoint checkpoint = Number().checkpoint();
    checkpoint.tensors.clear();
    store_module(checkpoint, "number", *module_);
    return checkpoint;
  }
  void restore(const Checkpoint& checkpoint) override {
    restore_module(checkpoint, "number", *module_);
  }
  double weight() const { return module_->weight.item<double>(); }

  std::vector<uint64_t> noises;

 private:
  torch::Tensor distance(const std::vector<double>& others) const {
    return (module_->weight - torch::tensor(others, torch::kFloat32)).square().mean();
  }

  std::vector<double> others_;
  torch::nn::Linear module_{torch::nn::LinearOptions(1, 1).bias(false)};
};

TEST(Fit, PartsOfAMinibatchWeighAsTheirExamples) {
  std::vector<double> weights, losses;
  for (const int chunks : {1, 2, 3, 7}) {  // 7: more than there are examples
    TemporaryDirectory directory;
    MeanOf problem({0, 1, 5, -2, 30});
    FitConfig config;
    config.epochs = 30;
    config.learning_rate = 0.1;
    config.chunks = chunks;
    const FitResult result = fit(problem, config, 1, directory.path(), "best.pt", false, {});
    weights.push_back(problem.weight());
    losses.push_back(result.best_metrics.front().second);  // in training
    const auto each = static_cast<size_t>(chunks > 5 ? 1 : chunks);
    ASSERT_EQ(problem.noises.size(), 30 * each);
    for (size_t i = 1; i < each; ++i) EXPECT_NE(problem.noises[i], problem.noises[0]);
  }
  EXPECT_GT(weights[0], 2);
  for (size_t i = 1; i < weights.size(); ++i) {
    EXPECT_NEAR(weights[i], weights[0], 1e-5);
    EXPECT_NEAR(losses[i], losses[0], 1e-4);
  }
}

TEST(Fit, AValidationThatIsNoNumberLeavesTheBestCheckpointAlone) {
  TemporaryDirectory directory;
  FitConfig config;
  config.epochs = 3;
  const auto epoch_kept = [&] {
    return load_checkpoint(directory / "best.pt", "number").counters.at("epoch");
  };
  Number spoilt;
  spoilt.spoilt = 2;
  EXPECT_THROW(fit(spoilt, config, 1, directory.path(), "best.pt", false, {}), InputError);
  EXPECT_EQ(epoch_kept(), 1);
  Number whole;
  EXPECT_EQ(fit(whole, config, 1, directory.path(), "best.pt", true, {}).epochs, 3);
  EXPECT_EQ(epoch_kept(), 3);
}

TEST(Fit, WhatIsKilledBeforeAnEpochIsToldTellsIt) {
  TemporaryDirectory directory;
  FitConfig config;
  config.epochs = 3;
  std::vector<int> told;
  const auto tell_until = [&](int last) {
    return [&told, last](const FitProgress& progress) {
      if (progress.epoch > last) throw InputError("killed");
      told.push_back(progress.epoch);
    };
  };
  Number first, second;
  EXPECT_THROW(fit(first, config, 1, directory.path(), "best.pt", false, tell_until(1)),
               InputError);
  fit(second, config, 1, directory.path(), "best.pt", true, tell_until(3));
  EXPECT_THAT(told, ::testing::ElementsAre(1, 2, 3));
}

/// Fits a number to noise, in minibatches that are drawn; asks to be stopped at one of them.
class Noise : public Number {
 public:
  int stop_at = std::numeric_limits<int>::max();
  StopToken stop;

  int begin_epoch(int epoch, Rng& rng) override {
    Number::begin_epoch(epoch, rng);
    order_ = {0, 1, 2, 3, 4};
    shuffle(std::span(order_), rng);
    return static_cast<int>(order_.size());
  }
  LossTerms loss(int minibatch, Part part, torch::Generator noise) override {
    if (++seen_ == stop_at) stop.request();
    const auto target = torch::rand({}, noise) + order_[static_cast<size_t>(minibatch)];
    LossTerms terms = Number::loss(minibatch, part, noise);
    terms.add("distance", (weight() - target).square().sum());
    return terms;
  }

 private:
  std::vector<int> order_;
  int seen_ = 0;
};

TEST(Fit, WhatIsStoppedAnywhereGoesOnToTheSameResult) {
  FitConfig config;
  config.epochs = 3;
  const TemporaryDirectory whole_directory;
  std::vector<FitMetrics> told_whole;
  Noise whole;
  const auto tell_into = [](std::vector<FitMetrics>& told) {
    return [&told](const FitProgress& progress) { told.push_back(progress.metrics); };
  };
  fit(whole, config, 1, whole_directory.path(), "best.pt", false, tell_into(told_whole));
  for (const int stop_at : {1, 3, 5, 6, 14}) {
    const TemporaryDirectory directory;
    std::vector<FitMetrics> told;
    Noise first, second;
    first.stop_at = stop_at;
    config.stop = first.stop;
    EXPECT_THROW(fit(first, config, 1, directory.path(), "best.pt", false, tell_into(told)),
                 Interrupted);
    config.stop = StopToken();
    fit(second, config, 1, directory.path(), "best.pt", true, tell_into(told));
    EXPECT_EQ(told, told_whole) << "stopped at " << stop_at;
    EXPECT_TRUE(torch::equal(second.weight(), whole.weight()));
  }
}

TEST(Fit, GoesOnFromTheWeightsThatItBeganWithAlone) {
  TemporaryDirectory directory;
  FitConfig config;
  config.epochs = 2;
  const auto fit_from = [&](uint64_t origin, bool resume) {
    Number number;
    number.began_with = origin;
    fit(number, config, 1, directory.path(), "best.pt", resume, {});
  };
  fit_from(7, false);
  EXPECT_NO_THROW(fit_from(7, true));
  EXPECT_THROW(fit_from(8, true), InputError);
  EXPECT_THROW(fit_from(0, true), InputError);
}

}  // namespace
}  // namespace reverie
