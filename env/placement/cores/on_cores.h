#pragma once

#include <memory>
#include <string>

#include "env/placement/cores/core_threads.h"
#include "env/placement/cores/model_on_cores.h"
#include "env/placement/graph/placement_input.h"
#include "env/placement/simulator/measure_schedule.h"

namespace reverie {

/// Cores of this machine as devices.
struct Cores {
  std::shared_ptr<CoreThreads> threads;
  Topology topology;  ///< measured_core_topology
};

/// `devices` names cores (core_topology.h). InputError as cores_named.
Cores open_cores(const std::string& devices);

/// An ONNX model's forward pass on these.
struct OnCores {
  std::shared_ptr<CoreThreads> threads;
  std::shared_ptr<ModelOnCores> model;
  PlacementInput input;  ///< nodes cost ModelOnCores::node_times while all cores are busy
};

/// InputError for a graph that is no ONNX model, a training step, and an operator that cannot be
/// run.
OnCores read_on_cores(const std::string& input, const Cores& cores,
                      const PlacementInputConfig& config);

/// Runs a schedule of the model: measured_makespan (undisturbed.h).
MeasureSchedule measure_schedules(const OnCores& on_cores);

}  // namespace reverie
