#include "env/vector_environment.h"

#include "core/base/error.h"

namespace reverie {

VectorEnvironment::VectorEnvironment(const Environment& prototype, int slots, int workers)
    : over_(static_cast<size_t>(slots), 1), pool_(workers) {
  REVERIE_CHECK(slots >= 1);
  for (int slot = 0; slot < slots; ++slot) slots_.push_back(prototype.fork());
}

void VectorEnvironment::reset(std::span<const uint64_t> seeds) {
  REVERIE_CHECK_EQ(seeds.size(), slots_.size());
  pool_.run(slots_.size(), [&](size_t i, int) { reset_slot(static_cast<int>(i), seeds[i]); });
}

void VectorEnvironment::reset_slot(int slot, uint64_t seed) {
  slots_[static_cast<size_t>(slot)]->reset(seed);
  over_[static_cast<size_t>(slot)] = 0;
}

std::vector<StepResult> VectorEnvironment::step(std::span<const Action> actions) {
  REVERIE_CHECK_EQ(actions.size(), slots_.size());
  std::vector<StepResult> results(slots_.size());
  pool_.run(slots_.size(), [&](size_t i, int) {
    if (over_[i]) return;
    results[i] = slots_[i]->step(actions[i]);
    over_[i] = results[i].terminated || results[i].truncated;
  });
  return results;
}

std::vector<Observation> VectorEnvironment::observe(std::span<const int64_t> slots) {
  std::vector<Observation> observations(slots.size());
  pool_.run(slots.size(), [&](size_t i, int) {
    observations[i] = slots_[static_cast<size_t>(slots[i])]->observe();
  });
  return observations;
}

EnvCounters VectorEnvironment::counters() const {
  EnvCounters sum;
  for (const auto& slot : slots_) sum += slot->counters();
  return sum;
}

}  // namespace reverie
