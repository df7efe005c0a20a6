#pragma once

#include "core/onnx/opset.h"

namespace reverie::proto {

/// A lowered graph, unchanged where it has a common language. Otherwise what the newest opset of
/// the range lacks is spelled out in older operators where that is possible: LayerNormalization,
/// HardSwish, Softmax along an inner axis, Gemm without a term. Lowered again,
/// constants folded or not.
Graph spell_out(Graph graph, const OpsetRange& range, bool fold);

/// Only the spelling out, in one language and without lowering. Whether anything had to be.
bool replace_newer(Graph& graph, const Language& language);

}  // namespace reverie::proto
