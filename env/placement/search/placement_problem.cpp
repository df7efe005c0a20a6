#include "env/placement/search/placement_problem.h"

#include <algorithm>

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

PlacementProblem::PlacementProblem(const CostGraph& graph, const Topology& topology,
                                   const Placement& start, PlacementObjective objective)
    : simulator_(graph, topology),
      cost_(simulator_, objective),
      state_(graph, topology.size(), checked(simulator_, start)),
      tried_(state_) {
  for (const Device& device : topology.devices)
    has_limits_ = has_limits_ || device.memory_bytes != Device::kUnlimited;
  if (objective == PlacementObjective::kMakespan)
    bound_ = static_cast<double>(
        std::max(critical_path(graph, topology), work_bound(graph, topology)).count);
  outcome_ = simulator_.run(state_.placement(), Dispatch::kInOrder);
}

std::unique_ptr<Problem> PlacementProblem::copy() const {
  return std::make_unique<PlacementProblem>(*this);
}

double PlacementProblem::change(const Move& move) const {
  tried_ = state_;
  if (!tried_.apply({move.kind, move.index})) return 0;
  return cost_.of(simulator_.run(tried_.placement(), Dispatch::kInOrder)) - cost();
}

bool PlacementProblem::apply(const Move& move) {
  if (!state_.apply({move.kind, move.index})) return false;
  outcome_ = simulator_.run(state_.placement(), Dispatch::kInOrder);
  return true;
}

uint64_t PlacementProblem::hash() const {
  uint64_t hash = 0;
  for (const int device : state_.placement().device)
    hash = hash_combine(hash, static_cast<uint64_t>(device));
  for (const int node : state_.order()) hash = hash_combine(hash, static_cast<uint64_t>(node));
  return hash;
}

std::shared_ptr<const Snapshot> PlacementProblem::snapshot() const {
  return std::make_shared<PlacementSnapshot>(state_.placement());
}

bool PlacementProblem::is(const Snapshot& snapshot) const {
  const auto& other = dynamic_cast<const PlacementSnapshot&>(snapshot).placement;
  return other.device == state_.placement().device && other.priority == state_.placement().priority;
}

}  // namespace reverie
