#pragma once

#include "core/onnx/sampled_file.h"

namespace reverie::proto {

/// How extents are written.
enum class ExtentCode {
  kShort,    ///< read from graph inputs where that explains them; 0 and -1 in Reshape
  kAsInFile  ///< as the file computes them. Of total = past + now, all bindings that fit say that
             ///< an extent past + now is that of `total`; with an extent of 1, which is broadcast,
             ///< it is not.
};

/// Writes back what depends on symbolic dimensions, for an export in which these stay symbolic.
///
/// `graph` carries the samples of `file` (core/ir/types.h). In the result, which carries none:
///  - a constant that varies is computed again: from the extents of graph inputs, where that
///  explains every element,
///    else as the file computes it;
///  - a node whose attributes vary (the shape of Reshape and Expand, the ends of Slice, the parts
///  of Split, padding by
///    auto_pad, ...) reads them from there. A node of the file stands as in the file. One that a
///    rewrite added gets each number from an extent of what it reads or of a graph input, from a
///    number that the file computes, or from a sum, product or quotient of these, whichever has the
///    same value at every sample. Reshape gets 0 and -1 instead where these say the same.
/// These are opaque nodes. What nothing explains stays a number: whether the result holds for other
/// extents has to be tried (core/onnx/symbols.h).
Graph with_shape_code(const SampledFile& file, const Graph& graph,
                      ExtentCode code = ExtentCode::kShort);

}  // namespace reverie::proto
