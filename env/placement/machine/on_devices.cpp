#include "env/placement/machine/on_devices.h"

#include <charconv>
#include <filesystem>

#include "core/base/error.h"
#include "core/exec/cuda/cuda_device.h"
#include "core/onnx/import.h"
#include "env/placement/machine/core_topology.h"
#include "env/placement/machine/model_on_cores.h"
#include "env/placement/machine/streams.h"
#include "env/placement/machine/undisturbed.h"

namespace reverie {
namespace {

constexpr std::string_view kCores = "cores:", kStreams = "streams:";

/// What follows the colon; 0 where it is no number.
int number_in(const std::string& devices) {
  const std::string text = devices.substr(devices.find(':') + 1);
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end ? number : 0;
}

class Cores : public OwnDevices {
 public:
  explicit Cores(int cores) : threads_(cores), topology_(measured_core_topology(threads_)) {}
  const Topology& topology() const override { return topology_; }
  std::unique_ptr<ModelOnDevices> ready(const Graph& model, const std::string& name,
                                        std::span<const Tensor> inputs) override {
    return model_on_cores(model, name, inputs, threads_);
  }

 private:
  CoreThreads threads_;
  Topology topology_;
};

std::shared_ptr<OwnDevices> open_cores(const std::string& devices) {
  const int cores = number_in(devices);
  if (cores < 1 || cores > usable_cores())
    throw InputError("'{}' needs a number of cores from 1 to {}, which this process may use",
                     devices, usable_cores());
  return std::make_shared<Cores>(cores);
}

std::shared_ptr<OwnDevices> open_streams(const std::string& devices) {
  const int streams = number_in(devices);
  if (streams < kFewestStreams || streams > kMostStreams)
    throw InputError("'{}' needs a number of streams from {} to {}", devices, kFewestStreams,
                     kMostStreams);
  return with_context(devices, [&] { return streams_of(device::open_cuda(), streams); });
}

}  // namespace

bool names_own_devices(const std::string& devices) {
  return devices.starts_with(kCores) || devices.starts_with(kStreams);
}

std::shared_ptr<OwnDevices> open_own_devices(const std::string& devices) {
  return devices.starts_with(kCores) ? open_cores(devices) : open_streams(devices);
}

OnDevices read_on_devices(const std::string& input, const std::shared_ptr<OwnDevices>& devices,
                          const PlacementInputConfig& config) {
  constexpr int kRounds = 15;
  constexpr uint64_t kSeed = 1;
  const std::string& on = devices->topology().name;
  if (std::filesystem::path(input).extension() != ".onnx")
    throw InputError("{}: is no ONNX model, and only these can be run on {}", input, on);
  if (config.training)
    throw InputError("{}: a training step cannot be run on {}, only a forward pass", input, on);
  ImportedModel imported = import_onnx(input, {config.shapes, config.dims});
  std::shared_ptr<ModelOnDevices> model = with_context(input, [&] {
    return devices->ready(imported.graph, std::filesystem::path(input).stem().string(),
                          drawn_inputs(imported.graph, kSeed));
  });
  CostGraph graph = with_costs(model->graph(), model->graph().kinds().front(),
                               model->node_times(kRounds, ModelOnDevices::Others::kBusy));
  return {.devices = devices,
          .model = std::move(model),
          .input = {std::move(graph), std::move(imported.warnings), {}, std::move(imported.info)}};
}

MeasureSchedule measure_schedules(const OnDevices& on_devices) {
  return [devices = on_devices.devices, model = on_devices.model](const Timeline& timeline) {
    const std::lock_guard lock(devices->turn);
    return measured_makespan(*model, order_by_device(timeline, devices->topology().size()));
  };
}

}  // namespace reverie
