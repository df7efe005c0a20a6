#pragma once

#include <filesystem>
#include <string>

#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// Parses and checks a model file; InputError in one line when it is none or breaks ONNX's rules.
onnx::ModelProto read_model(const std::filesystem::path& path);

/// What ONNX's checker objects to; empty when it accepts the model, whose external data lie in
/// `folder`. A missing shape of an input or output is let pass.
std::string verdict(onnx::ModelProto* model, const std::filesystem::path& folder);

/// Version of the standard operator set that the model imports; the newest when it imports none.
int standard_opset(const onnx::ModelProto& model);

}  // namespace reverie::proto
