#include "env/placement/placement_visits.h"

#include <algorithm>

namespace reverie {
namespace {

/// By node, how many nodes come behind it in a row. Unlike times these are equal whenever costs are
/// measured.
std::vector<int64_t> nodes_behind(const CostGraph& graph) {
  std::vector<int64_t> behind(static_cast<size_t>(graph.size()));
  for (auto node = graph.order().rbegin(); node != graph.order().rend(); ++node)
    for (const int input : graph.inputs(*node)) {
      const auto producer =
          static_cast<size_t>(graph.tensors()[static_cast<size_t>(input)].producer);
      behind[producer] = std::max(behind[producer], behind[static_cast<size_t>(*node)] + 1);
    }
  return behind;
}

}  // namespace

PlacementVisits::PlacementVisits(const Simulator& simulator, const PlacementEntities& entities)
    : simulator_(simulator),
      entities_(entities),
      order_(simulator, nodes_behind(simulator.graph())),
      places_(static_cast<size_t>(entities.size()), -1) {
  for (const int node : order_.nodes()) {
    const int group = entities.of(node);
    if (places_[static_cast<size_t>(group)] >= 0) continue;
    places_[static_cast<size_t>(group)] = static_cast<int>(groups_.size());
    groups_.push_back(group);
  }
}

PlacingSteps PlacementVisits::steps(const PlacementState& state, int groups) const {
  PlacingSteps steps(order_);
  for (int n = 0; n < groups; ++n) steps.place(state.device[static_cast<size_t>(group(n))]);
  return steps;
}

PlannedPlacement PlacementVisits::plan(const PlacementState& state) const {
  const std::vector<Device>& devices = simulator_.topology().devices;
  PlannedPlacement plan{{steps(state, state.placed).runs(), {}, {}}, {}, {}};
  std::vector<int64_t> bytes(devices.size()), end(devices.size()), left(devices.size());
  int64_t behind = 0;
  for (int node = 0; node < simulator_.graph().size(); ++node) {
    const int group = entities_.of(node), device = state.device[static_cast<size_t>(group)];
    const int64_t cost = simulator_.cost(node, device).count;
    if (!is_placed(state, group)) {
      behind += cost;
      continue;
    }
    left[static_cast<size_t>(device)] += cost;
    bytes[static_cast<size_t>(device)] +=
        simulator_.graph().nodes()[static_cast<size_t>(node)].persistent_bytes;
  }
  for (const Timeline::Run& run : plan.timeline.runs) {
    plan.outcome.misplaced += !simulator_.can_run(run.node, run.device);
    const auto device = static_cast<size_t>(run.device);
    left[device] -= run.end.count - run.start.count;
    end[device] = std::max(end[device], run.end.count);
  }
  for (size_t device = 0; device < devices.size(); ++device) {
    plan.outcome.makespan.count = std::max(plan.outcome.makespan.count, end[device]);
    plan.at_least.count = std::max(plan.at_least.count, end[device] + left[device]);
    plan.outcome.peak_bytes = std::max(plan.outcome.peak_bytes, bytes[device]);
    plan.outcome.bytes_over += std::max<int64_t>(bytes[device] - devices[device].memory_bytes, 0);
  }
  plan.at_least.count += behind;
  return plan;
}

}  // namespace reverie
