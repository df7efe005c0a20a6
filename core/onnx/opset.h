#pragma once

#include <optional>

#include "core/ir/graph.h"
#include "core/onnx/model_info.h"

namespace reverie::proto {

/// Opsets at which what a model holds as it came keeps its meaning.
struct OpsetRange {
  int oldest;
  int newest;
  /// What ends the range before kNewestOpset: an untouched node's operator; empty when nothing does.
  std::string fixed_by;
};

/// From the original's opset up to the newest at which opaque standard nodes, and those of the
/// model's functions, mean what they mean at the original's.
OpsetRange opset_range(const Graph& graph, const ModelInfo& info);

/// The oldest opset of the range at which every node of a lowered graph can be written.
std::optional<int> find_common_opset(const Graph& graph, const OpsetRange& range);
/// The same; InputError that names the obstacle when there is none.
int common_opset(const Graph& graph, const OpsetRange& range);

}  // namespace reverie::proto
