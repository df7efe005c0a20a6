#include "worldmodel/fit.h"

#include <gmock/gmock.h>

#include <limits>

#include "core/base/error.h"
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
  LossTerms loss(int, torch::Generator) override {
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
    store_module(checkpoint, "number", *module_);
    return checkpoint;
  }
  void restore(const Checkpoint& checkpoint) override { restore_module(checkpoint, "number", *module_); }
  uint64_t origin() const override { return began_with; }

 private:
  torch::nn::Linear module_{torch::nn::LinearOptions(1, 1).bias(false)};
  int epoch_ = 0;
};

TEST(Fit, AValidationThatIsNoNumberLeavesTheBestCheckpointAlone) {
  TemporaryDirectory directory;
  FitConfig config;
  config.epochs = 3;
  const auto epoch_kept = [&] { return load_checkpoint(directory / "best.pt", "number").counters.at("epoch"); };
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
  EXPECT_THROW(fit(first, config, 1, directory.path(), "best.pt", false, tell_until(1)), InputError);
  fit(second, config, 1, directory.path(), "best.pt", true, tell_until(3));
  EXPECT_THAT(told, ::testing::ElementsAre(1, 2, 3));
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
