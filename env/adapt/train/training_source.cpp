#include "env/adapt/training_source.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/error.h"
#include "env/adapt/train/trainer.h"

namespace reverie {
namespace {

void check_schedule(const TrainingConfig& config) {
  const bool seconds = config.unit == BudgetUnit::kSeconds;
  if (config.rates.empty() || !std::ranges::is_sorted(config.rates, std::ranges::less_equal()))
    throw InputError("rates must be ascending, each once; give them in that order");
  if (config.restart == Restart::kPublished && config.rates != std::vector{config.rate})
    throw InputError(
        "with restart=published every rate after a change is that of the beginning; set "
        "rates=[{:g}]",
        config.rate);
  if (!seconds && config.budget < 1)
    throw InputError("the budget of {} is less than one: give more of it", budget_text(config));
  if (config.extra.from >= config.extra.until)
    throw InputError("extra.from ({:g}) must be less than extra.until ({:g})", config.extra.from,
                     config.extra.until);
  if (seconds && config.extra.factor != std::floor(config.extra.factor))
    throw InputError(
        "with unit=seconds extra.factor is a number of threads; {:g} is no whole number",
        config.extra.factor);
  if (seconds && config.from == 0)
    throw InputError(
        "with unit=seconds from must be above 0: how long an epoch takes is known after the first");
}

void check_batches(const TrainingSetup& setup) {
  const int64_t images = setup.train.count();
  if (images % setup.config.batch == 1)
    throw InputError(
        "{} training images in batches of {} leave a batch of one, which has no variance; take "
        "another "
        "batch or number of images",
        images, setup.config.batch);
}

class LibTorchSource : public TrainingSource {
 public:
  LibTorchSource(std::shared_ptr<const TrainingSetup> setup, std::string scenario)
      : setup_(std::move(setup)), scenario_(std::move(scenario)) {}

  std::string name() const override { return "train"; }
  std::string scenario() const override { return scenario_; }
  uint64_t fingerprint() const override { return setup_->fingerprint; }
  int decisions() const override { return setup_->config.decisions; }
  const std::vector<double>& rates() const override { return setup_->config.rates; }
  bool deterministic() const override { return setup_->config.unit == BudgetUnit::kFlops; }

  bool offers(const JobState& state, const ChangeAtRate& change) const override {
    return !state.over && std::ssize(state.decisions) < decisions() &&
           std::ranges::count(rates(), change.rate) > 0 &&
           adapt::allows(state.network, change.in(state.network));
  }

  bool foresees() const override { return deterministic(); }
  std::unique_ptr<TrainingJob> foresee() const override {
    if (!foresees()) return nullptr;
    return at_first().foreseen();
  }
  std::unique_ptr<TrainingJob> start(uint64_t seed) const override {
    return std::make_unique<TrainerJob>(at_first(), seed);
  }
  std::unique_ptr<RealJob> begin(uint64_t seed) const override {
    return std::make_unique<TrainerJob>(setup_, seed);
  }
  std::unique_ptr<RealJob> load(const std::string& path) const override {
    return TrainerJob::load(setup_, path);
  }
  ImageCounts images() const override { return setup_->images; }

 private:
  const TrainerJob& at_first() const {
    std::call_once(begun_, [&] { with_context(scenario_, [&] { train_to_first(); }); });
    return *at_first_;
  }
  void train_to_first() const {
    auto job = std::make_unique<TrainerJob>(setup_, 0);
    job->go_on();
    at_first_ = std::move(job);
  }

  std::shared_ptr<const TrainingSetup> setup_;
  std::string scenario_;
  mutable std::once_flag begun_;
  mutable std::unique_ptr<const TrainerJob>
      at_first_;  ///< of which every job is a copy; made when the first is wanted
};

std::unique_ptr<TrainingSource> make_libtorch_source(const Network& network,
                                                     const std::string& scenario,
                                                     const TrainingConfig& config) {
  return with_context(scenario, [&] {
    check_schedule(config);
    network.shapes();
    const ImageData data = load_images(config.data, network.image, network.classes(),
                                       {config.train_images, config.test_images, config.seed});
    auto setup = std::make_shared<const TrainingSetup>(network, config, data);
    check_batches(*setup);
    return std::make_unique<LibTorchSource>(setup, scenario);
  });
}

const bool kRegistered = register_training(&make_libtorch_source);

}  // namespace
}  // namespace reverie
