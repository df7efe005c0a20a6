#pragma once

#include <memory>

#include "controller/policy/policy.h"
#include "core/base/config.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

struct PlanConfig {
  int64_t sequences = 512;
  double temperature = 0;
  double spread = 0.5;

  template <class V>
  void fields(V& v) {
    v.field("sequences", sequences,
            "Sequences of actions that are dreamt before each action: all where they are as few, "
            "else random ones",
            at_least(1));
    v.field("temperature", temperature, "Temperature of M; 0 takes the likeliest", at_least(0));
    v.field("spread", spread,
            "Sampled episodes: an action is e times less likely than the best where its best "
            "sequence returns less by so many standard deviations of all actions' returns",
            above(0));
  }
};

/// Has no weights: plans with M at every action (random shooting: Nagabandi et al. 2018, section
/// 4). From the state at hand it dreams sequences to the horizon, and takes the first action of the
/// one with the highest return. Every sequence is also ended by NO-OP after each of its steps. As
/// long as all continuations of all sequences are no more than `sequences`, all are dreamt; beyond,
/// so many random ones that go on evenly from those that there are.
class PlanPolicy : public Policy {
 public:
  PlanPolicy(std::shared_ptr<WorldModel> world, const PlanConfig& config)
      : world_(std::move(world)), config_(config) {}
  std::string name() const override { return "plan"; }
  /// The observation holds what M needs. The decision's value is the return of the best sequence.
  /// Greedy draws the same sequences whatever `rng`.
  PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) override;

 private:
  std::shared_ptr<WorldModel> world_;
  PlanConfig config_;
};

}  // namespace reverie
