#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "env/adapt/job.h"

namespace reverie {

/// Of what a budget is: multiply-adds, or seconds on the wall.
enum class BudgetUnit { kFlops, kSeconds };
inline EnumNames<BudgetUnit> enum_names(BudgetUnit) {
  return {{BudgetUnit::kFlops, "flops"}, {BudgetUnit::kSeconds, "seconds"}};
}

/// When Adam's moments begin anew: at a change; or, as published, before every epoch from the first
/// decision on, with the rate that training began with.
enum class Restart { kChange, kPublished };
inline EnumNames<Restart> enum_names(Restart) {
  return {{Restart::kChange, "change"}, {Restart::kPublished, "published"}};
}

/// A step at a greater learning rate could be beyond float32.
inline constexpr double kMostRate = 1e30;

/// Processors that come and go.
struct ExtraConfig {
  double from = 0, until = 1, factor = 1;
  template <class V>
  void fields(V& v) {
    v.field("from", from, "Share of the budget at which they come", between(0, 1));
    v.field("until", until,
            "Share at which they go; the network is then what it was before it grew with them",
            between(0, 1));
    v.field("factor", factor, "Throughput with them, in that without; of seconds, the threads",
            at_least(1));
  }
};

/// How a job trains.
///
/// An epoch costs 3 multiply-adds for each of the network's and training image (forward and
/// backward), and 1 for each of the network's and test image, divided by the throughput. A budget
/// of multiply-adds is stated in epochs of the starting network without extra processors; one of
/// seconds is what a clock says. The budget is charged by minibatch and an epoch that it breaks off
/// is neither recorded nor kept: weights are those of the last recorded epoch.
struct TrainingConfig {
  std::string data = "/usr/share/datasets/fashion-mnist";
  int train_images = 6000, test_images = 3000;
  int batch = 64;
  double budget = 40;
  BudgetUnit unit = BudgetUnit::kFlops;
  double from = 0.1;
  int decisions = 4, every = 8;
  ExtraConfig extra;
  double rate = 0.01;
  std::vector<double> rates = {0.001, 0.003, 0.01};
  double decay = 0.9;
  double noise = 0;
  Restart restart = Restart::kChange;
  uint64_t seed = 1;

  template <class V>
  void fields(V& v) {
    const ConfigRange rates_range{0, kMostRate, true};
    v.field("data", data, "Folder with the files of MNIST, Fashion-MNIST or CIFAR-10");
    v.field("train_images", train_images, "Images to train on; 0: all", at_least(0));
    v.field("test_images", test_images, "Images to measure accuracy on; 0: all", at_least(0));
    v.field("batch", batch, "Images in a minibatch", at_least(2));
    v.field("budget", budget, "Epochs of the starting network, or seconds", above(0));
    v.field("unit", unit, "Of what the budget is");
    v.field("from", from, "Share of the budget from which on the first decision comes",
            between(0, 1));
    v.field("decisions", decisions, "Decisions of a job", at_least(1));
    v.field("every", every, "Epochs from a decision to the next", at_least(1));
    v.section("extra", extra, "Extra processors");
    v.field("rate", rate, "Learning rate that training begins with", rates_range);
    v.field("rates", rates, "Learning rates that a change can come with, ascending", rates_range);
    v.field("decay", decay, "What an epoch multiplies the learning rate by", between(0, 1));
    v.field("noise", noise, "Widening: how unequally readers share out a weight among copies",
            between(0, 0.5));
    v.field("restart", restart, "When Adam's moments begin anew");
    v.field("seed", seed,
            "Which images are taken, and how training begins up to the first decision");
  }
};

/// A job of real training, which can stop after any epoch and go on later.
class RealJob : public TrainingJob {
 public:
  using AfterEpoch = std::function<void(const RealJob&)>;

  /// Trains on to the next decision, or to the end where there is none left; nothing where it
  /// stands there. After every recorded epoch `after` is called. What it throws ends the call; the
  /// job is then whole and can go on.
  virtual void go_on(const AfterEpoch& after = {}) = 0;
  /// As `TrainingJob::decide`, but does not train: `go_on` does.
  virtual void take(const std::optional<ChangeAtRate>& decision) = 0;
  /// All that it needs to go on to the same bytes. Written aside and renamed.
  virtual void save(const std::string& path) const = 0;
};

/// Jobs of real training. All are the same up to their first decision, which is trained to once,
/// when `start` is first called; from there on a job's seed orders the images and draws the noise
/// of widenings. Under a budget of multiply-adds equal seeds give equal bytes: a job trains on one
/// thread of LibTorch, whatever the caller's setting is, which it puts back. Under seconds it
/// trains on `extra.factor` threads while it has extra processors.
///
/// Where the network grew with extra processors and they go before the end, the epoch is broken off
/// there. The job goes on with the network it had before it grew, with its weights from then;
/// decisions stay in its history. The larger network's outputs on the training images, charged as a
/// pass forward, are soft targets (Hinton, Vinyals and Dean 2015, section 2): temperature 2, share
/// of the loss 0.75, a quarter of that after each epoch. The learning rate goes on, Adam's moments
/// begin anew.
class TrainingSource : public JobSource {
 public:
  /// A job before its first epoch; `JobSource::start` trains it to its first decision.
  virtual std::unique_ptr<RealJob> begin(uint64_t seed) const = 0;
  /// One that was saved. InputError, one line, where the file is none, is damaged, or is of another
  /// network, data or configuration.
  virtual std::unique_ptr<RealJob> load(const std::string& path) const = 0;
};

/// Loads the images. InputError, one line, where they do not fit or settings contradict each other.
/// Errors of `start`: no decision comes before the budget ends; the loss is no finite number.
std::unique_ptr<TrainingSource> make_training_source(const Network& network,
                                                     const std::string& scenario,
                                                     const TrainingConfig& config);

}  // namespace reverie
