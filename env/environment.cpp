#include "env/environment.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace reverie {

double Environment::measured_gain() const {
  throw InputError("the environment '{}' has nothing that can be measured end to end", spec().name);
}

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

std::span<const uint16_t> choices_by_region(const ActionMask& mask, int primary, int regions) {
  REVERIE_CHECK(primary >= 0 && primary < static_cast<int>(mask.counts.size()));
  const auto columns = static_cast<size_t>(regions), row = static_cast<size_t>(primary);
  if (regions == 1) return {&mask.counts[row], 1};
  REVERIE_CHECK_EQ(mask.region_counts.size(), mask.counts.size() * columns);
  return {&mask.region_counts[row * columns], columns};
}

RegionChoice region_choice(const ActionMask& mask, int primary, int secondary, int regions) {
  const auto row = choices_by_region(mask, primary, regions);
  REVERIE_CHECK(secondary >= 0);
  RegionChoice choice{0, secondary};
  while (choice.region < regions && choice.index >= row[static_cast<size_t>(choice.region)])
    choice.index -= row[static_cast<size_t>(choice.region++)];
  REVERIE_CHECK_LT(choice.region, regions);
  return choice;
}

int secondary_choice(const ActionMask& mask, int primary, RegionChoice choice, int regions) {
  const auto row = choices_by_region(mask, primary, regions);
  REVERIE_CHECK(choice.region >= 0 && choice.region < regions && choice.index >= 0);
  REVERIE_CHECK_LT(choice.index, static_cast<int>(row[static_cast<size_t>(choice.region)]));
  return std::accumulate(row.begin(), row.begin() + choice.region, choice.index);
}

std::vector<float> best_by_region(const ActionMask& mask, int primary, int regions,
                                  std::span<const double> gains) {
  REVERIE_CHECK_EQ(gains.size(), mask.counts[static_cast<size_t>(primary)]);
  std::vector<float> best;
  for (const size_t count : choices_by_region(mask, primary, regions)) {
    const auto here = gains.first(count);
    best.push_back(here.empty() ? 0.0f : static_cast<float>(*std::ranges::max_element(here)));
    gains = gains.subspan(count);
  }
  return best;
}

EnvCounters& EnvCounters::operator+=(const EnvCounters& other) {
  resets += other.resets;
  steps += other.steps;
  cost_lookups += other.cost_lookups;
  measurements += other.measurements;
  capped_states += other.capped_states;
  return *this;
}

}  // namespace reverie
