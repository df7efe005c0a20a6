#pragma once

#include "core/base/stopwatch.h"
#include "env/adapt/training_config.h"

namespace reverie {

/// What of a job's budget is spent (see TrainingConfig). A value.
class Budget {
 public:
  /// `first_epoch`: work of an epoch of the starting network. Work is in multiply-adds.
  Budget(const TrainingConfig& config, double first_epoch);

  /// Share, 0 to 1.
  double spent() const { return spent_; }
  bool over() const { return spent_ >= 1; }
  /// Whether so much is spent, to what sums of shares may be off by.
  bool reached(double share) const { return spent_ >= share - kRounding; }
  /// Whether the extra processors are there.
  bool extra() const {
    return config_.extra.factor > 1 && reached(config_.extra.from) &&
           !(reached(config_.extra.until) || over());
  }
  double throughput() const { return extra() ? config_.extra.factor : 1; }
  int threads() const {
    return config_.unit == BudgetUnit::kSeconds ? static_cast<int>(throughput()) : 1;
  }
  /// Share that the work takes with the processors of now. Of seconds by what the last `measure`
  /// said; 0 before.
  double share_of(double work) const { return share_ * work / throughput(); }

  /// Of seconds: the time until the next charge counts from now.
  void start_clock() { clock_ = Stopwatch(); }
  /// Work that was just done. False, and all is spent, where the budget ended before it.
  bool charge(double work);
  void end() { spent_ = 1; }
  /// Of seconds: since `spent_before`, so much work was done.
  void measure(double spent_before, double work);

  double share() const { return share_; }
  void restore(double spent, double share);

 private:
  static constexpr double kRounding = 1e-9;

  TrainingConfig config_;
  double spent_ = 0;
  double share_ = 0;  ///< of the budget for one multiply-add at throughput 1
  Stopwatch clock_;
};

}  // namespace reverie
