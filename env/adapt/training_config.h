#pragma once

#include <string>
#include <vector>

#include "core/base/config.h"

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
  double noise = 0.5;
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
    v.field(
        "noise", noise,
        "Widening: how unequally readers share out a weight among copies; 0: a copy learns what "
        "its original does",
        between(0, 0.5));
    v.field("restart", restart, "When Adam's moments begin anew");
    v.field("seed", seed,
            "Which images are taken, and how training begins up to the first decision");
  }
};

/// "300 s", or "40 epochs of the starting network".
std::string budget_text(const TrainingConfig& config);

}  // namespace reverie
