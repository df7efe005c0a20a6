#pragma once

#include <vector>

#include "core/onnx/proto.h"

namespace reverie::proto {

/// What the ONNX library cannot tell: the types of outputs of operators of ONNX Runtime's and of
/// opsets that are newer than the library. `inputs` stand in the places of the node's own inputs,
/// not set where unknown or absent. Fills in the outputs that have no shape, with extents that are
/// not known where inputs have such.
void infer_further(const onnx::NodeProto& node, const std::vector<onnx::TypeProto>& inputs,
                   std::vector<onnx::TypeProto>* outputs);

}  // namespace reverie::proto
