#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "env/environment.h"

namespace reverie {

/// One of the steps that lead to a policy, and what it took.
struct StepTaken {
  std::string step = {};              ///< "collect", "train_vae", "train_mdnrnn", "dream_train"
  std::string done = {};              ///< "150 episodes", "10 epochs"
  std::optional<uint64_t> seed = {};  ///< none: not recorded
  /// Those before it was stopped and resumed too; none: not recorded.
  std::optional<double> seconds = {};
  std::string version = {};     ///< of the program; empty: not recorded
  EnvCounters learning = {};    ///< real work that learning is from
  EnvCounters validation = {};  ///< real work that only judges; capped states are not kept

  bool operator==(const StepTaken&) const;
};

/// As it stands in the file; what is not recorded is left out.
Json step_json(const StepTaken& step);

using History = std::vector<StepTaken>;

/// What `directory`/history.json says: the steps that led to what lies there, in their order. Empty
/// where there is none, as earlier programs wrote none. InputError where it is damaged.
///
/// It is a file of its own: times differ between runs, and all else that a step writes follows from
/// its seed.
History read_history(const std::string& directory);

/// Writes the history of `directory` at the end of a step: what led to it, and the step. A history
/// that is there stays: a step that has ended before does nothing when it is resumed.
void write_history(const std::string& directory, History before, StepTaken step);

/// Both, steps that are in both once.
History joined(History one, const History& other);

}  // namespace reverie
