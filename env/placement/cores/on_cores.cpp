#include "env/placement/cores/on_cores.h"

#include <filesystem>
#include <mutex>

#include "core/base/error.h"
#include "core/onnx/import.h"
#include "env/placement/cores/core_topology.h"
#include "env/placement/cores/undisturbed.h"

namespace reverie {

Cores open_cores(const std::string& devices) {
  Cores cores{std::make_shared<CoreThreads>(cores_named(devices)), {}};
  cores.topology = measured_core_topology(*cores.threads);
  return cores;
}

OnCores read_on_cores(const std::string& input, const Cores& cores,
                      const PlacementInputConfig& config) {
  constexpr int kRounds = 15;
  constexpr uint64_t kSeed = 1;
  const std::string& devices = cores.topology.name;
  if (std::filesystem::path(input).extension() != ".onnx")
    throw InputError("{}: is no ONNX model, and only these can be run on {}", input, devices);
  if (config.training)
    throw InputError("{}: a training step cannot be run on {}, only a forward pass", input,
                     devices);
  ImportedModel imported = import_onnx(input, {config.shapes, config.dims});
  auto model = with_context(input, [&] {
    return std::make_shared<ModelOnCores>(imported.graph,
                                          std::filesystem::path(input).stem().string(),
                                          drawn_inputs(imported.graph, kSeed), *cores.threads);
  });
  CostGraph graph =
      with_core_costs(model->graph(), model->node_times(kRounds, ModelOnCores::Others::kBusy));
  return {.threads = cores.threads,
          .model = std::move(model),
          .input = {std::move(graph), std::move(imported.warnings)}};
}

MeasureSchedule measure_schedules(const OnCores& on_cores) {
  return [threads = on_cores.threads, model = on_cores.model,
          turn = std::make_shared<std::mutex>()](const Timeline& timeline) {
    const std::lock_guard lock(*turn);
    return measured_makespan(*model, order_by_core(timeline, threads->size()));
  };
}

}  // namespace reverie
