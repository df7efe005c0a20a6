#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/parallel.h"
#include "env/environment.h"

namespace reverie {

/// B forks of one environment, stepped together on threads. Each slot is an environment of its own,
/// so results do not depend on the number of workers. A slot whose episode is over ignores actions
/// and gives zero reward until it is reset.
class VectorEnvironment {
 public:
  VectorEnvironment(const Environment& prototype, int slots, int workers = 1);

  const EnvSpec& spec() const { return slots_.front()->spec(); }
  int size() const { return static_cast<int>(slots_.size()); }
  bool over(int slot) const { return over_[static_cast<size_t>(slot)] != 0; }
  const Environment& slot(int slot) const { return *slots_[static_cast<size_t>(slot)]; }

  /// A seed for each slot.
  void reset(std::span<const uint64_t> seeds);
  void reset_slot(int slot, uint64_t seed);
  /// An action for each slot. What a slot throws is thrown again; other slots may have stepped.
  std::vector<StepResult> step(std::span<const Action> actions);
  /// Of these slots, in this order.
  std::vector<Observation> observe(std::span<const int64_t> slots);
  /// Of all slots together.
  EnvCounters counters() const;

 private:
  std::vector<std::unique_ptr<Environment>> slots_;
  std::vector<char> over_;
  WorkerPool pool_;
};

}  // namespace reverie
