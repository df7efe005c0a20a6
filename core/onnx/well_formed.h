#pragma once

#include <string>

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Looks at a node of the standard domain: numbers of inputs and outputs, names and kinds of
/// attributes. InputError in one line where the operator has others at that opset. The reason why
/// it cannot be told what the node is, where ONNX has that operator at newer opsets alone and the
/// node does not have the form that it has at the next; ONNX Runtime knows LayerNormalization, and
/// an older MeanVarianceNormalization, before ONNX does. Otherwise empty; so for operators that
/// ONNX never has.
std::string reason_against_form(const onnx::NodeProto& node, int opset);

}  // namespace reverie::proto
