#pragma once

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Puts the nodes of model-local functions in the place of their calls, in subgraphs, too, and
/// removes the functions that nothing calls then. Values inside get fresh names; nodes that of the
/// call and their own. A function that was written for another opset, in which one of its operators
/// means something else, stays as it is, and so does one with defaults of attributes or with
/// overloads, which newer versions of ONNX have. Recursion and size are bounded before
/// (core/onnx/check_functions.h).
void inline_functions(onnx::ModelProto* model);

}  // namespace reverie::proto
