#pragma once

#include <filesystem>
#include <string>

#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// Parses and checks a model file; InputError in one line when it is none or breaks ONNX's rules.
onnx::ModelProto read_model(const std::filesystem::path& path);

/// Version of the standard operator set that the model imports; the newest when it imports none.
int standard_opset(const onnx::ModelProto& model);

}  // namespace reverie::proto
