#pragma once

#include <string>
#include <vector>

#include "controller/policy/policy.h"
#include "worldmodel/batch/choice_features.h"

namespace reverie::testing {

/// Takes the first choice of the first action that has one, and keeps what it was shown.
class FirstChoice : public Policy {
 public:
  std::string name() const override { return "first choice"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    shown.push_back(observation);
    const auto first = observation.mask.totals.gt(0).to(torch::kInt64).argmax(1);
    const LatentActions actions = choice_at(observation.mask, first, torch::zeros_like(first));
    return {actions, torch::zeros({first.size(0)}), {}};
  }

  std::vector<LatentObservation> shown;
};

}  // namespace reverie::testing
