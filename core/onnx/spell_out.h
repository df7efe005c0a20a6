#pragma once

#include "core/onnx/opset.h"

namespace reverie::proto {

/// A lowered graph, unchanged where it has a common opset. Otherwise what the newest opset of the
/// range lacks is spelled out in older operators where that is possible: LayerNormalization,
/// HardSwish, Softmax along an inner axis, Gemm without a term. Lowered again.
Graph spell_out(Graph graph, const OpsetRange& range);

}  // namespace reverie::proto
