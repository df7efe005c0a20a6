#pragma once

#include <optional>

#include "core/ir/graph.h"
#include "core/onnx/model_info.h"

namespace reverie::proto {

/// The newest standard operator set whose operators the ONNX library knows (ONNX 1.12).
inline constexpr int kNewestInLibrary = 17;

/// The oldest opset that files are written for: before, elements broadcast by attributes.
inline constexpr int kOldestWritten = 7;

/// What a file may say. A later one takes what the earlier ones have, too.
enum class Dialect {
  kStandard,  ///< operators of the standard alone
  kExtended,  ///< and those of ONNX Runtime's own domain
  kRuntime,   ///< and those that ONNX Runtime adds to the standard's domain, which ONNX's checker
              ///< refuses
};

/// The standard opset that a file has, and what it may say beside it.
struct Language {
  int opset;
  Dialect dialect = Dialect::kStandard;
};

/// Opsets at which what a model holds as it came keeps its meaning.
struct OpsetRange {
  int oldest;
  int newest;
  /// An untouched node's operator that ends the range; empty when nothing does.
  std::string fixed_by;
  /// What the original says of ONNX Runtime's operators, what is written may say, too.
  Dialect most = Dialect::kStandard;
};

/// From the original's opset, at least kOldestWritten, up to the newest at which opaque standard
/// nodes, and those of the model's functions, mean what they mean at the original's. It does not go
/// beyond kNewestInLibrary, for which any node of the table can be written, unless the original
/// does.
OpsetRange opset_range(const Graph& graph, const ModelInfo& info);

/// The first dialect and the oldest opset of the range with which every node of a lowered graph can
/// be written.
std::optional<Language> find_common_language(const Graph& graph, const OpsetRange& range);
/// The same; InputError that names the obstacle when there is none.
Language common_language(const Graph& graph, const OpsetRange& range);

}  // namespace reverie::proto
