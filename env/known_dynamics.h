#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "env/environment.h"

namespace reverie {

struct KnownStep {
  bool terminated = false;  ///< as StepResult
  bool truncated = false;
  /// As far as it is computed: all of it, or what stands for it where a real step measures. Empty
  /// where a real step alone tells it.
  std::optional<double> reward = {};
};

/// What an environment knows of an episode's future without a real step: valid actions, ends, and
/// every column of what it observes but those that the spec names as learned (EnvSpec::learned).
/// Nothing is trained, measured or counted. Not safe for concurrent use; `fork` gives another.
/// Known dynamics and real steps agree (tests/env/conformance.h).
class KnownDynamics {
 public:
  virtual ~KnownDynamics() = default;
  /// The environment's.
  virtual const EnvSpec& spec() const = 0;
  /// As Environment::step. The learned columns stay what they were last told to be.
  virtual KnownStep step(const Action& action) = 0;
  virtual ActionMask mask() const = 0;
  /// As Environment::observe, with the learned columns as told. NO-OP keeps it.
  virtual Observation observe() const = 0;
  /// Says what the learned columns are in this state, in the order of EnvSpec::learned.
  virtual void tell(std::span<const float> learned) = 0;
  virtual std::unique_ptr<KnownDynamics> fork() const = 0;
};

/// The dynamics of an environment whose steps compute everything and do no real work: its own, from
/// its current state on.
std::unique_ptr<KnownDynamics> computed_dynamics(std::unique_ptr<Environment> environment);

/// Of each name in `learned` its place among the graph targets of `spec`.
std::vector<size_t> learned_places(const EnvSpec& spec);
/// The learned columns of a state of `spec`.
std::vector<float> learned_of(const EnvSpec& spec, const GraphFeatures& graph);

}  // namespace reverie
