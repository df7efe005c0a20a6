#pragma once

#include <memory>
#include <optional>

#include "env/placement/simulator/fusion.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Runs placements with what they say of fusion: nodes are fused by kernels_of, and the fused graph
/// is simulated. A placement that says nothing runs as by Simulator.
///
/// Copies run independently.
class FusingSimulator {
 public:
  /// Both must outlive it. InputError as Simulator.
  FusingSimulator(const CostGraph& graph, const Topology& topology);

  /// A fused node has the highest priority among its nodes; in order it runs as far to the front
  /// as the graph allows (fused_placement). The timeline names nodes of the graph: those of a fused
  /// node run at once, and it has no transfers and no memory. InputError as Simulator::run and
  /// kernels_of.
  Outcome run(const Placement& placement, Dispatch dispatch = Dispatch::kReady,
              Timeline* timeline = nullptr);

  /// Of the last run that fused: kernels_of the placement.
  const std::vector<int>& kernels() const { return fused_->node_of; }
  /// Of graphs as they are.
  Simulator& plain() { return plain_; }
  const Simulator& plain() const { return plain_; }

 private:
  void fuse_for(const Placement& placement);

  Simulator plain_;
  std::vector<int> device_;  ///< that the fused graph was made for
  std::vector<int> kernel_;  ///< likewise
  std::shared_ptr<const FusedGraph> fused_;
  std::optional<Simulator> of_fused_;
};

/// A placement that gives the same schedule when it is run in order. Its kernels are those that
/// ran, and the graph allows its priorities also before nodes are fused.
Placement in_order(FusingSimulator& simulator, const Placement& placement, Dispatch dispatch);

}  // namespace reverie
