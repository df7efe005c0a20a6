#pragma once

#include <memory>

#include "controller/policy/policy.h"
#include "core/base/config.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

struct PlanConfig {
  int64_t sequences = 512;
  int64_t depth = 6;
  double temperature = 0;
  double spread = 0.5;

  template <class V>
  void fields(V& v) {
    v.field("sequences", sequences,
            "Sequences of actions that are dreamt before each action: all where they are as few, "
            "else random ones, or the likeliest of the policy that is planned with",
            at_least(1));
    v.field("depth", depth,
            "With a policy: steps that are dreamt before its critic says the rest; 0: all",
            at_least(0));
    v.field("temperature", temperature, "Temperature of M; 0 takes the likeliest", at_least(0));
    v.field(
        "spread", spread,
        "An action is e times less likely than the best where its best sequence returns less by so "
        "many standard deviations of all actions' returns",
        above(0));
  }
};

/// Plans with M at every action. From the state at hand it dreams sequences of actions, and takes
/// the first action of the one with the highest return. As long as all continuations of all
/// sequences are no more than `sequences`, all are dreamt. Beyond that:
///
/// - Alone, it dreams so many random ones, which go on evenly from those that there are, to the
///   horizon (random shooting: Nagabandi et al. 2018, section 4). Every sequence is also ended by
///   NO-OP after each of its steps.
/// - With a policy as its guide it dreams those that are likeliest under it, for `depth` steps. The
///   critic says what comes after them (Hansen et al. 2024, section 3.2). The guide's logarithms of
///   probabilities are added to the returns, in units of `spread`: M errs most where C never goes.
class PlanPolicy : public Policy {
 public:
  /// `guide` has priors, or is null; it must outlive this.
  PlanPolicy(std::shared_ptr<WorldModel> world, const PlanConfig& config, Policy* guide = nullptr)
      : world_(std::move(world)), config_(config), guide_(guide) {}
  std::string name() const override { return "plan"; }
  /// The observation holds what M needs. The decision's value is the return of the best sequence.
  /// Greedy draws the same sequences whatever `rng`.
  PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) override;
  void set_guide(Policy* guide) { guide_ = guide; }

 private:
  std::shared_ptr<WorldModel> world_;
  PlanConfig config_;
  Policy* guide_;
};

}  // namespace reverie
