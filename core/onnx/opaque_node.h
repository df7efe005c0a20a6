#pragma once

#include "core/ir/graph.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// Attributes of the opaque node that stands for `node` of `model`: its operator, its serialised
/// form with names that do not depend on the model around it, and the opsets that it was written
/// for.
Attributes opaque_attributes(const onnx::NodeProto& node, const onnx::ModelProto& model);

}  // namespace reverie::proto
