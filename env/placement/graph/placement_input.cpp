#include "env/placement/graph/placement_input.h"

#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/onnx/import.h"
#include "env/placement/graph/generator.h"
#include "env/placement/graph/model_graph.h"
#include "env/placement/graph/training_graph.h"

namespace reverie {
namespace {

PlacementInput from_model(const std::string& path, const Topology& topology,
                          const PlacementInputConfig& config) {
  ImportedModel model = import_onnx(path, {config.shapes, config.dims});
  const std::string name = std::filesystem::path(path).stem().string();
  const auto convert = config.training ? training_graph_of : cost_graph_of;
  CostGraph graph = with_context(path, [&] { return convert(model.graph, topology, name); });
  return {std::move(graph), std::move(model.warnings), folded_nodes(model.graph, topology),
          std::move(model.info)};
}

}  // namespace

PlacementInput read_placement_input(const std::string& input, const Topology& topology,
                                    const PlacementInputConfig& config) {
  if (is_generated_graph(input)) return {generated_graph(input), {}};
  const std::string ending = std::filesystem::path(input).extension().string();
  if (ending == ".json" || input == "/dev/stdin") return {read_cost_graph(input), {}};
  if (ending == ".onnx") return from_model(input, topology, config);
  throw InputError("{}: is no graph to place; there are {}", input, kPlacementInputs);
}

}  // namespace reverie
