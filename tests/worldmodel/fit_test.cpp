#include "worldmodel/fit.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

/// Fits a number to 0; from the epoch `spoilt` on its validation says that it is none.
class Number : public FitProblem {
 public:
  int spoilt = std::numeric_limits<int>::max();

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

}  // namespace
}  // namespace reverie
