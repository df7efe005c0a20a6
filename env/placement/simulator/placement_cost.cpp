#include "env/placement/simulator/placement_cost.h"

#include <algorithm>

namespace reverie {
namespace {

double most_bytes(const Simulator& simulator) {
  double bytes = 1;
  for (const CostNode& node : simulator.graph().nodes())
    bytes += static_cast<double>(node.persistent_bytes) + static_cast<double>(node.temporary_bytes);
  for (const CostTensor& tensor : simulator.graph().tensors())
    bytes += static_cast<double>(tensor.bytes) * simulator.topology().size();
  return bytes;
}

double longest_time(const Simulator& simulator) {
  const int devices = simulator.topology().size();
  double time = 0;
  for (int node = 0; node < simulator.graph().size(); ++node) {
    Picoseconds longest;
    for (int device = 0; device < devices; ++device)
      longest = std::max(longest, simulator.cost(node, device));
    time += static_cast<double>(longest.count);
  }
  for (int tensor = 0; tensor < std::ssize(simulator.graph().tensors()); ++tensor) {
    Picoseconds longest;
    for (int from = 0; from < devices; ++from)
      for (int to = 0; to < devices; ++to)
        longest = std::max(longest, simulator.transfer(tensor, from, to));
    time += static_cast<double>(longest.count) * devices;
  }
  return time;
}

}  // namespace

PlacementCost::PlacementCost(const Simulator& simulator, PlacementObjective objective)
    : objective_(objective),
      bytes_(most_bytes(simulator)),
      penalty_(objective == PlacementObjective::kMakespan ? longest_time(simulator) : bytes_) {}

double PlacementCost::of(const Outcome& outcome) const {
  const auto cost = static_cast<double>(
      objective_ == PlacementObjective::kMakespan ? outcome.makespan.count : outcome.peak_bytes);
  if (outcome.feasible()) return cost;
  return cost +
         penalty_ * (1 + outcome.misplaced + static_cast<double>(outcome.bytes_over) / bytes_);
}

}  // namespace reverie
