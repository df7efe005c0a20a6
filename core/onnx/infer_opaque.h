#pragma once

#include <string>
#include <vector>

#include "core/ir/tensor.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// A value that a node reads, as ONNX's shape inference gets to see it.
struct KnownValue {
  std::string name;
  onnx::TypeProto type;                      ///< not set: unknown
  const onnx::TensorProto* value = nullptr;  ///< a small constant
};

/// Types of the node's outputs by ONNX's own inference from its inputs (captured values included),
/// and by infer_further; one that neither can tell is not set. `strict`: InputError when ONNX finds
/// the node wrong. LibraryCrash when the inference crashes on a node whose inputs are all known: it
/// is wrong, too.
std::vector<onnx::TypeProto> infer_outputs(const onnx::NodeProto& node,
                                           const std::vector<KnownValue>& inputs,
                                           const onnx::ModelProto& model, bool strict);

}  // namespace reverie::proto
