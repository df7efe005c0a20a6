#pragma once

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Whether a node of the standard domain has as many inputs and outputs and such attributes as the
/// operator has at that opset; where it has none there (ONNX Runtime knows LayerNormalization at
/// older ones), as at the next that has one. InputError in one line where it has not. Operators
/// that ONNX does not have are let pass.
void require_well_formed(const onnx::NodeProto& node, int opset);

}  // namespace reverie::proto
