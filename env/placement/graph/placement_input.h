#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/onnx/model_info.h"
#include "env/placement/graph/cost_graph.h"
#include "env/placement/graph/model_graph.h"
#include "env/placement/graph/topology.h"

namespace reverie {

/// How an input becomes a graph to be placed.
struct PlacementInputConfig {
  std::vector<std::string> shapes, dims;
  bool training = false;

  template <class V>
  void fields(V& v) {
    v.field("shapes", shapes,
            "Extents of inputs of ONNX models with symbolic dimensions: name=1,3,224,224");
    v.field("dims", dims, "Extents of symbolic dimensions by name: batch=1,seq=128");
    v.field("training", training, "ONNX models with the gradients and updates of a training step");
  }
};

struct PlacementInput {
  CostGraph graph;
  std::vector<std::string> warnings;    ///< each one line for a person
  std::vector<FoldedNode> folded = {};  ///< of a model
  std::optional<ModelInfo> model = {};  ///< of a model: what its file holds besides
};

/// NAME.json is a file in the format placement-graph/1, NAME.onnx a model, and
/// generate:FAMILY:NODES:SEED a synthetic graph. InputError for anything else, and as the readers.
PlacementInput read_placement_input(const std::string& input, const Topology& topology,
                                    const PlacementInputConfig& config);

/// For help: what an input may be.
inline constexpr char kPlacementInputs[] =
    "ONNX models, graphs as JSON (placement-graph/1), or generate:FAMILY:NODES:SEED";

}  // namespace reverie
