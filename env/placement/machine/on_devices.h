#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "env/placement/graph/placement_input.h"
#include "env/placement/graph/topology.h"
#include "env/placement/machine/model_on_devices.h"
#include "env/placement/simulator/measure_schedule.h"

namespace reverie {

/// Devices of this machine that run what is placed on them.
class OwnDevices {
 public:
  virtual ~OwnDevices() = default;
  /// Measured.
  virtual const Topology& topology() const = 0;
  /// The devices must outlive it. `inputs` in the order of model.inputs(). InputError for inputs of
  /// other types, a model without operators or inputs, and an operator that cannot be run there.
  virtual std::unique_ptr<ModelOnDevices> ready(const Graph& model, const std::string& name,
                                                std::span<const Tensor> inputs) = 0;

  std::mutex turn;  ///< held by who runs a model on them
};

/// Their names as a person reads them.
inline constexpr char kOwnDevices[] = "cores:N of this machine, or streams:N of its GPU";

/// "cores:" or "streams:" and a number.
bool names_own_devices(const std::string& devices);
/// Of such a name. InputError where the number is none, as CoreThreads and as streams_of
/// (streams.h), and without a GPU as open_cuda.
std::shared_ptr<OwnDevices> open_own_devices(const std::string& devices);

/// An ONNX model's forward pass on such devices.
struct OnDevices {
  std::shared_ptr<OwnDevices> devices;
  std::shared_ptr<ModelOnDevices> model;
  PlacementInput input;  ///< nodes cost ModelOnDevices::node_times while all devices are busy
};

/// InputError for a graph that is no ONNX model, a training step, and an operator that cannot be
/// run.
OnDevices read_on_devices(const std::string& input, const std::shared_ptr<OwnDevices>& devices,
                          const PlacementInputConfig& config);

/// Runs a schedule of the model: measured_makespan (undisturbed.h).
MeasureSchedule measure_schedules(const OnDevices& on_devices);

}  // namespace reverie
