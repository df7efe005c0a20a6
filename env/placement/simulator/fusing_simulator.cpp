#include "env/placement/simulator/fusing_simulator.h"

#include <utility>

namespace reverie {

FusingSimulator::FusingSimulator(const CostGraph& graph, const Topology& topology)
    : plain_(graph, topology) {}

void FusingSimulator::fuse_for(const Placement& placement) {
  if (fused_ && placement.device == device_ && placement.kernel == kernel_) return;
  auto fused =
      std::make_shared<const FusedGraph>(fuse(plain_.graph(), kernels_of(plain_, placement)));
  of_fused_.emplace(fused->graph, plain_.topology());
  fused_ = std::move(fused);
  device_ = placement.device;
  kernel_ = placement.kernel;
}

Outcome FusingSimulator::run(const Placement& placement, Dispatch dispatch, Timeline* timeline) {
  if (placement.kernel.empty()) return plain_.run(placement, dispatch, timeline);
  fuse_for(placement);
  const Placement of_kernels = fused_placement(*fused_, placement, dispatch);
  if (timeline == nullptr) return of_fused_->run(of_kernels, dispatch);
  Timeline kernels;
  const Outcome outcome = of_fused_->run(of_kernels, dispatch, &kernels);
  std::vector<std::vector<int>> members(static_cast<size_t>(fused_->graph.size()));
  for (int node = 0; node < plain_.graph().size(); ++node)
    members[static_cast<size_t>(fused_->node_of[static_cast<size_t>(node)])].push_back(node);
  for (const Timeline::Run& run : kernels.runs)
    for (const int node : members[static_cast<size_t>(run.node)])
      timeline->runs.push_back({node, run.device, run.start, run.end});
  return outcome;
}

Placement in_order(FusingSimulator& simulator, const Placement& placement, Dispatch dispatch) {
  if (dispatch == Dispatch::kInOrder && placement.kernel.empty()) return placement;
  Timeline timeline;
  simulator.run(placement, dispatch, &timeline);
  Placement ordered = placement;
  ordered.priority.resize(placement.device.size());
  if (!placement.kernel.empty()) ordered.kernel = simulator.kernels();
  int64_t next = 0;
  for (const Timeline::Run& run : timeline.runs)
    ordered.priority[static_cast<size_t>(run.node)] = next--;
  return ordered;
}

}  // namespace reverie
