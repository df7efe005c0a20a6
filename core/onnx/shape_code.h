#pragma once

#include "core/onnx/observed_file.h"

namespace reverie::proto {

/// How extents are written.
enum class ExtentCode {
  kShort,    ///< read from graph inputs where that explains them; 0 and -1 in Reshape
  kAsInFile  ///< as the file computes them. Of total = past + now, all bindings that fit say that an extent past + now
             ///< is that of `total`; with an extent of 1, which is broadcast, it is not.
};

/// Writes back what depends on symbolic dimensions, for an export in which these stay symbolic.
///
/// An import binds every symbol, so that shapes that a model computes become numbers. Importing the
/// file again with other extents shows which constants and attributes depend on symbols.
/// In the result:
///  - a constant that depends on symbols is computed again: from the extents of graph inputs, where that
///    explains every element, else as the file computes it;
///  - a node of the file that is still there and whose attributes depend on symbols (the shape of Reshape and
///    Expand, the ends of Slice, the parts of Split, padding by auto_pad, ...) stands as in the file, and
///    reads them from there; Reshape gets 0 and -1 instead where these say the same.
/// These are opaque nodes. What neither explains stays a number, and so does what rewrites have added: whether
/// the result holds for other extents has to be tried (core/onnx/symbols.h).
///
/// `graph` comes from the model that `original` was made with.
Graph with_shape_code(const ObservedFile& original, const Graph& graph, ExtentCode code = ExtentCode::kShort);

}  // namespace reverie::proto
