#include "env/adapt/train/budget.h"

namespace reverie {

Budget::Budget(const TrainingConfig& config, double first_epoch) : config_(config) {
  if (config.unit == BudgetUnit::kFlops) share_ = 1 / (config.budget * first_epoch);
}

bool Budget::charge(double work) {
  double share = share_of(work);
  if (config_.unit == BudgetUnit::kSeconds) {
    share = clock_.seconds() / config_.budget;
    start_clock();
  }
  const bool lasts = spent_ + share <= 1 + kRounding;
  spent_ += share;
  if (reached(1)) end();
  return lasts;
}

void Budget::measure(double spent_before, double work) {
  if (config_.unit == BudgetUnit::kSeconds) share_ = (spent_ - spent_before) * throughput() / work;
}

void Budget::restore(double spent, double share) {
  spent_ = spent;
  share_ = share;
}

}  // namespace reverie
