#pragma once

#include <filesystem>
#include <string>

#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// A model, and where it keeps weights: in files beside it, and large ones in its own
/// (core/onnx/wire.h).
struct ModelFile {
  onnx::ModelProto model;
  ExternalFiles files;
};

/// Parses and checks a model file; InputError in one line when it is none or breaks ONNX's rules.
ModelFile read_model(const std::filesystem::path& path);

/// Version of the standard operator set that the model imports; kNewestInLibrary when it imports none.
int standard_opset(const onnx::ModelProto& model);

}  // namespace reverie::proto
