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
  bool is_in_order = true;  ///< nothing had to be changed for that
};

/// Parses a model file, puts it in order (core/onnx/put_in_order.h) and inlines its functions.
/// InputError in one line when it is no model, has an opset that is not supported, or lacks a file
/// with weights. Its nodes are not looked at, and tensors may have any data, except sparse ones,
/// which are sound.
ModelFile read_model(const std::filesystem::path& path);

/// Version of the standard operator set that the model imports; kNewestInLibrary when it imports
/// none.
int standard_opset(const onnx::ModelProto& model);

}  // namespace reverie::proto
