#include "env/adapt/training_config.h"

#include <fmt/format.h>

namespace reverie {

std::string budget_text(const TrainingConfig& config) {
  return config.unit == BudgetUnit::kSeconds
             ? fmt::format("{} s", config.budget)
             : fmt::format("{} epoch{} of the starting network", config.budget,
                           config.budget == 1 ? "" : "s");
}

}  // namespace reverie
