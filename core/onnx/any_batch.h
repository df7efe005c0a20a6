#pragma once

#include "core/ir/graph.h"
#include "core/onnx/model_info.h"

namespace reverie {

/// The name of a first dimension that a file leaves open.
inline constexpr char kBatch[] = "batch";

/// What a file needs whose graph holds for any first dimension of its inputs and outputs, with
/// ExportOptions::symbols {kBatch}. Whether it does is not looked at here.
ModelInfo with_any_batch(const Graph& graph);

}  // namespace reverie
