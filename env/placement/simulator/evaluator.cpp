#include "env/placement/simulator/evaluator.h"

#include <algorithm>

namespace reverie {

Evaluator::Evaluator(const CostGraph& graph, const Topology& topology, PlacementObjective objective,
                     EvaluationBudget budget, std::vector<double> fusion)
    : simulator_(graph, topology),
      cost_(simulator_.plain(), objective),
      budget_(std::move(budget)),
      fusion_(std::move(fusion)) {}

const Outcome& Evaluator::evaluate(const Placement& placement, Dispatch dispatch) {
  if (fusion_.empty() || !placement.kernel.empty()) return judge(placement, dispatch);
  if (placement.device != fused_.device) {
    fused_.kernel = greedy_fusion(simulator_.plain(), placement, fusion_);
    fused_.device = placement.device;
  }
  return judge({placement.device, placement.priority, fused_.kernel}, dispatch);
}

const Outcome& Evaluator::judge(const Placement& placement, Dispatch dispatch) {
  Timeline timeline;
  outcome_ = simulator_.run(placement, dispatch, measure_ ? &timeline : nullptr);
  if (measure_) outcome_.makespan = measure_(timeline);
  ++evaluations_;
  if (has_best() && cost(outcome_) >= cost(best_outcome_)) return outcome_;
  best_ = in_order(simulator_, placement, dispatch);
  best_outcome_ = outcome_;
  return outcome_;
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

std::optional<EvaluationBudget> Evaluator::rest_until(double share) const {
  EvaluationBudget rest = budget_;
  if (rest.evaluations > 0) {
    const double all = share * static_cast<double>(rest.evaluations);
    rest.evaluations = static_cast<int64_t>(all) - evaluations_ - 1;
    if (rest.evaluations <= 0) return std::nullopt;
  }
  if (rest.seconds > 0) {
    rest.seconds = share * rest.seconds - seconds();
    if (rest.seconds <= 0) return std::nullopt;
  }
  return rest;
}

}  // namespace reverie
