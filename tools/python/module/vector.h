#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "tools/python/module/environment.h"

namespace reverie::python {

/// When the episode that follows one that is over begins: at the next step, in the same step, or
/// when `reset` says so.
enum class Autoreset { kNextStep, kSameStep, kDisabled };

/// Forks of one environment that step together on threads, as VectorEnvironment's do, with actions
/// as numbers and states as arrays of all of them. Each is an environment of its own, so results do
/// not depend on the number of workers.
class NumberedVector {
 public:
  NumberedVector(const NumberedEnvironment& prototype, int slots, int workers, bool padded,
                 Autoreset autoreset);

  /// Seeds of all; those of the slots that are not `chosen` are not used. Returns observations and
  /// infos of all.
  py::tuple reset(std::span<const int64_t> seeds, std::span<const bool> chosen);
  /// `seeds`: of episodes that begin now. Returns observations, rewards, ends, infos, whether a
  /// seed was used, and of the episodes that ended in the same step the last observations (by slot,
  /// None elsewhere) and infos. InputError, and no step, for an action that is not valid where
  /// `strict`, and for an episode that is over where nothing begins the next.
  py::tuple step(std::span<const int64_t> actions, std::span<const int64_t> seeds, bool strict);
  int size() const { return static_cast<int>(slots_.size()); }
  EpisodeSolution solution(int slot) const;
  std::string describe(int slot) const { return at(slot).environment->describe(); }

 private:
  struct Shown {
    Observation observation;
    StepInfo info;
    int start = -1;
    bool invalid = false;
  };
  struct Slot {
    std::unique_ptr<Environment> environment;
    Shown shown = {};
    std::optional<Shown> ended = {};  ///< what was shown of an episode that ended in this step
    double reward = 0;
    bool terminated = false, truncated = false;
    bool began = false;  ///< in this call
    bool over() const { return terminated || truncated; }
  };
  class Infos;

  const Slot& at(int slot) const { return slots_.at(static_cast<size_t>(slot)); }
  const EnvSpec& spec() const { return slots_.front().environment->spec(); }
  std::optional<Action> action_of(const Slot& slot, int64_t number) const {
    return numbers_.action(slot.shown.observation.mask, number);
  }
  void check(std::span<const int64_t> actions, bool strict) const;
  void begin(Slot& slot, uint64_t seed) const;
  void advance(Slot& slot, int64_t number, uint64_t seed) const;
  /// Calls `advance` for each slot, on threads, and shows what all have then.
  py::dict observations(const std::function<void(size_t slot)>& advance);
  py::dict dict_of(const Observation& observation) const;
  py::tuple finals() const;

  std::shared_ptr<Origin> origin_;
  ActionNumbers numbers_;
  ArrayLayout layout_;
  bool padded_;
  Autoreset autoreset_;
  std::vector<Slot> slots_;
  WorkerPool pool_;
};

void bind_vector(py::module_& module);

}  // namespace reverie::python
