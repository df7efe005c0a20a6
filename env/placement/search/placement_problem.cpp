#include "env/placement/search/placement_problem.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"
#include "env/placement/simulator/bounds.h"

namespace reverie {
namespace {

/// Refuses a placement that does not fit the graph.
const Placement& checked(Simulator& simulator, const Placement& placement) {
  simulator.run(placement);
  return placement;
}

}  // namespace

PlacementProblem::PlacementProblem(std::shared_ptr<Evaluator> evaluator, const Placement& start)
    : evaluator_(std::move(evaluator)),
      state_(evaluator_->graph(), evaluator_->topology().size(),
             checked(evaluator_->simulator(), start)),
      tried_(state_) {
  const Topology& topology = evaluator_->topology();
  for (const Device& device : topology.devices)
    has_limits_ = has_limits_ || device.memory_bytes != Device::kUnlimited;
  const bool is_simulated = !evaluator_->measure() && evaluator_->fusion().empty();
  if (is_simulated && evaluator_->objective() == PlacementObjective::kMakespan)
    bound_ = static_cast<double>(std::max(critical_path(evaluator_->graph(), topology),
                                          work_bound(evaluator_->graph(), topology))
                                     .count);
  outcome_ = evaluator_->evaluate(state_.placement(), Dispatch::kInOrder);
}

std::unique_ptr<Problem> PlacementProblem::copy() const {
  return std::make_unique<PlacementProblem>(*this);
}

double PlacementProblem::change(const Move& move) const {
  tried_ = state_;
  tried_move_.reset();
  if (!tried_.apply({move.kind, move.index})) return 0;
  tried_outcome_ = evaluator_->evaluate(tried_.placement(), Dispatch::kInOrder);
  tried_move_ = move;
  return evaluator_->cost(tried_outcome_) - cost();
}

bool PlacementProblem::apply(const Move& move) {
  if (tried_move_ != move) change(move);
  if (!tried_move_) return false;
  std::swap(state_, tried_);
  outcome_ = tried_outcome_;
  tried_move_.reset();
  return true;
}

uint64_t PlacementProblem::hash() const {
  uint64_t hash = 0;
  for (const int device : state_.placement().device)
    hash = hash_combine(hash, static_cast<uint64_t>(device));
  for (const int kernel : state_.placement().kernel)
    hash = hash_combine(hash, static_cast<uint64_t>(kernel));
  for (const int node : state_.order()) hash = hash_combine(hash, static_cast<uint64_t>(node));
  return hash;
}

std::shared_ptr<const Snapshot> PlacementProblem::snapshot() const {
  return std::make_shared<PlacementSnapshot>(state_.placement());
}

bool PlacementProblem::is(const Snapshot& snapshot) const {
  const auto& other = dynamic_cast<const PlacementSnapshot&>(snapshot).placement;
  return other.device == state_.placement().device &&
         other.priority == state_.placement().priority && other.kernel == state_.placement().kernel;
}

}  // namespace reverie
