#include "env/placement/cores/on_cores.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/onnx/import.h"
#include "env/placement/cores/core_topology.h"

namespace reverie {

OnCores read_on_cores(const std::string& input, const std::string& devices,
                      const PlacementInputConfig& config) {
  constexpr int kRounds = 15;
  constexpr uint64_t kSeed = 1;
  const int cores = cores_named(devices);
  if (std::filesystem::path(input).extension() != ".onnx")
    throw InputError("{}: is no ONNX model, and only these can be run on {}", input, devices);
  if (config.training)
    throw InputError("{}: a training step cannot be run on {}, only a forward pass", input,
                     devices);
  ImportedModel imported = import_onnx(input, {config.shapes, config.dims});
  auto threads = std::make_unique<CoreThreads>(cores);
  auto model = with_context(input, [&] {
    return std::make_unique<ModelOnCores>(imported.graph,
                                          std::filesystem::path(input).stem().string(),
                                          drawn_inputs(imported.graph, kSeed), *threads);
  });
  Topology topology = measured_core_topology(*threads);
  CostGraph graph =
      with_core_costs(model->graph(), model->node_times(kRounds, ModelOnCores::Others::kBusy));
  return {.threads = std::move(threads),
          .model = std::move(model),
          .topology = std::move(topology),
          .input = {std::move(graph), std::move(imported.warnings)}};
}

}  // namespace reverie
