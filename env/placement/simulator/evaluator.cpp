#include "env/placement/simulator/evaluator.h"

#include <algorithm>

namespace reverie {

Evaluator::Evaluator(const CostGraph& graph, const Topology& topology, PlacementObjective objective,
                     EvaluationBudget budget)
    : simulator_(graph, topology), cost_(simulator_, objective), budget_(std::move(budget)) {}

const Outcome& Evaluator::evaluate(const Placement& placement, Dispatch dispatch) {
  outcome_ = simulator_.run(placement, dispatch);
  ++evaluations_;
  if (!has_best() || cost(outcome_) < cost(best_outcome_)) keep(placement, dispatch);
  return outcome_;
}

void Evaluator::keep(const Placement& placement, Dispatch dispatch) {
  best_ = in_order(simulator_, placement, dispatch);
  best_outcome_ = outcome_;
}

bool Evaluator::spent() const {
  return (budget_.evaluations > 0 && evaluations_ >= budget_.evaluations) ||
         (budget_.seconds > 0 && seconds() >= budget_.seconds) || budget_.stop.requested() ||
         (has_best() && cost(best_outcome_) <= budget_.enough);
}

double Evaluator::used() const {
  double share = 0;
  if (budget_.evaluations > 0)
    share = static_cast<double>(evaluations_) / static_cast<double>(budget_.evaluations);
  if (budget_.seconds > 0) share = std::max(share, seconds() / budget_.seconds);
  return std::min(share, 1.0);
}

Placement in_order(Simulator& simulator, const Placement& placement, Dispatch dispatch) {
  if (dispatch == Dispatch::kInOrder) return placement;
  Timeline timeline;
  simulator.run(placement, dispatch, &timeline);
  Placement ordered{placement.device, std::vector<int64_t>(placement.device.size())};
  int64_t next = 0;
  for (const Timeline::Run& run : timeline.runs)
    ordered.priority[static_cast<size_t>(run.node)] = next--;
  return ordered;
}

}  // namespace reverie
