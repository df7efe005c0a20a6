#pragma once

#include "core/cost/cost_model.h"

namespace reverie {

/// Costs play no part when a rule is checked.
class NoCost : public CostModel {
 public:
  std::string name() const override { return "none"; }
  CostSource source() const override { return CostSource::kEstimated; }
  bool deterministic() const override { return true; }
  Cost cost(const OpSignature&) override { return {}; }
  Counters counters() const override { return {}; }
};

}  // namespace reverie
