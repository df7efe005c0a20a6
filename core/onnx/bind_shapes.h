#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ir/types.h"
#include "core/onnx/import.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

struct BoundInputs {
  /// By name. An input that is no tensor, or has no shape, has a type with known() == false.
  std::map<std::string, TensorType> types;
  /// The extents of symbolic dimensions.
  std::map<std::string, int64_t> symbols;
  /// Some of them were assumed.
  bool has_assumed = false;
  /// What was assumed or left unknown, each one line.
  std::vector<std::string> warnings;
};

/// Static types of the model's inputs (those named in `constants` excepted), with symbolic dimensions bound
/// as ImportOptions says. InputError for bindings that do not fit.
BoundInputs bind_inputs(const onnx::GraphProto& graph, const std::set<std::string>& constants,
                        const ImportOptions& options);

}  // namespace reverie::proto
