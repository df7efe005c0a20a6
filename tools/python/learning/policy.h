#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "controller/train/trained_policy.h"
#include "tools/python/module/environment.h"

namespace reverie::python {

/// V, M and C of a policy file, as Python asks them. For one thread at a time.
class LoadedPolicy {
 public:
  /// `seed`: of what it draws. InputError, naming the file, when it holds no policy.
  LoadedPolicy(const std::string& path, uint64_t seed);

  const TrainedPolicy& trained() const { return trained_; }
  /// What it does in the environment's present state; of the choices, those that have numbers. M
  /// remembers the states that this was asked in; in the middle of an episode that it has not
  /// followed it begins anew.
  /// InputError where the environment is another one than it was trained in (env/translated.h), or
  /// has actions that it does not know.
  Action act(const NumberedEnvironment& environment, bool greedy);

 private:
  /// What M knows in a state, before an action is taken there.
  struct Memory {
    LatentState state;
    LatentMask mask;
  };
  /// M's memory in this moment, of which V says `latents`.
  Memory remember(const NumberedEnvironment& environment, const Latents& latents,
                  const LatentMask& mask) const;

  TrainedPolicy trained_;
  Rng rng_;
  std::map<uint64_t, Memory> memories_;  ///< by NumberedEnvironment::Moment::id
};

}  // namespace reverie::python
