#pragma once

#include <optional>

#include "core/ir/graph.h"
#include "core/onnx/model_info.h"

namespace reverie::proto {

/// The newest standard operator set whose operators the ONNX library knows (ONNX 1.12).
inline constexpr int kNewestInLibrary = 17;

/// Opsets at which what a model holds as it came keeps its meaning.
struct OpsetRange {
  int oldest;
  int newest;
  /// An untouched node's operator that ends the range; empty when nothing does.
  std::string fixed_by;
};

/// From the original's opset up to the newest at which opaque standard nodes, and those of the
/// model's functions, mean what they mean at the original's. It does not go beyond kNewestInLibrary, for
/// which any node of the table can be written, unless the original does.
OpsetRange opset_range(const Graph& graph, const ModelInfo& info);

/// The oldest opset of the range at which every node of a lowered graph can be written.
std::optional<int> find_common_opset(const Graph& graph, const OpsetRange& range);
/// The same; InputError that names the obstacle when there is none.
int common_opset(const Graph& graph, const OpsetRange& range);

}  // namespace reverie::proto
