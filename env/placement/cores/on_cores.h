#pragma once

#include <memory>
#include <string>

#include "env/placement/cores/core_threads.h"
#include "env/placement/cores/model_on_cores.h"
#include "env/placement/graph/placement_input.h"

namespace reverie {

/// An ONNX model's forward pass on this machine's cores, with what was measured of both.
struct OnCores {
  std::unique_ptr<CoreThreads> threads;
  std::unique_ptr<ModelOnCores> model;
  Topology topology;     ///< measured_core_topology
  PlacementInput input;  ///< nodes cost ModelOnCores::node_times while all cores are busy
};

/// `devices` names cores (core_topology.h). InputError for a graph that is no ONNX model, a
/// training step, an operator that cannot be run, and more cores than there are.
OnCores read_on_cores(const std::string& input, const std::string& devices,
                      const PlacementInputConfig& config);

}  // namespace reverie
