#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/onnx/proto.h"

/// ONNX's own checker and shape inference. Both trust their input and crash, recurse or grow
/// without bound on some that is wrong, so that they run in a child process
/// (core/base/child_process.h).
namespace reverie::proto {

/// The library crashed, or took more time or memory than it is given.
class LibraryCrash : public InputError {
 public:
  using InputError::InputError;
};

struct InferenceOptions {
  bool check_types = false;
  bool strict = false;  ///< object to every node that is wrong
  bool values = false;  ///< follow the values of shapes, too
};

struct Inference {
  std::string objection;  ///< empty when it has none
  std::vector<onnx::ValueInfoProto> values;
};

/// What the checker objects to in the graph and functions; empty when it accepts them. A missing
/// type or shape of an input or output is let pass. External data lie in `folder`. LibraryCrash
/// when it crashes. The model is as before when this returns; so with infer_shapes.
std::string check_model(onnx::ModelProto* model, const std::filesystem::path& folder);

/// What shape inference finds; of large tensors it sees the types alone. LibraryCrash when it
/// crashes.
Inference infer_shapes(onnx::ModelProto* model, const InferenceOptions& options);

}  // namespace reverie::proto
