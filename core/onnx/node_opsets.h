#pragma once

#include <string>

#include "core/onnx/proto.h"

namespace reverie::proto {

/// The opsets that give a node of `model` its meaning, as text: "ai.onnx 13, com.microsoft 1". For
/// the standard domain that is the oldest at which its operators, those of subgraphs included, are
/// what they are at the model's.
std::string opsets_of(const onnx::NodeProto& node, const onnx::ModelProto& model);

}  // namespace reverie::proto
