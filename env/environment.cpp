#include "env/environment.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie {

bool allows(const ActionMask& mask, const Action& action) {
  if (action.primary < 0 || action.primary >= static_cast<int>(mask.counts.size())) return false;
  if (mask.choices.empty())
    return action.secondary >= 0 && action.secondary < mask.counts[action.primary];
  const auto& choices = mask.choices[action.primary];
  return std::binary_search(choices.begin(), choices.end(), action.secondary);
}

int secondary_choice(const ActionMask& mask, int primary, int index) {
  REVERIE_CHECK(primary >= 0 && primary < static_cast<int>(mask.counts.size()));
  REVERIE_CHECK_LT(index, static_cast<int>(mask.counts[primary]));
  return mask.choices.empty() ? index : mask.choices[primary][index];
}

EnvCounters& EnvCounters::operator+=(const EnvCounters& other) {
  resets += other.resets;
  steps += other.steps;
  cost_lookups += other.cost_lookups;
  measurements += other.measurements;
  return *this;
}

}  // namespace reverie
