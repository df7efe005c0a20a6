#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ir/types.h"
#include "core/onnx/fitting_extents.h"
#include "core/onnx/import.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// What stands for symbolic dimensions that nobody bound.
struct Assumptions {
  /// Others get a plausible extent (core/onnx/default_extents.h), made smaller where an input would
  /// be large.
  Extents extents = {};
  /// They have none: an input that has such a dimension has an unknown type.
  bool leave_unknown = false;
};

struct BoundInputs {
  /// By name. An input that is no tensor, or has no shape, has a type with known() == false.
  std::map<std::string, TensorType> types;
  /// The extents of symbolic dimensions.
  Extents symbols;
  /// Those of them that were assumed, but not because others were.
  Extents assumed;
  bool has_given = false;  ///< a binding of ImportOptions gives some
  /// What was assumed or left unknown, each one line.
  std::vector<std::string> warnings;
};

/// Static types of the model's inputs (those named in `constants` excepted), with symbolic
/// dimensions bound as ImportOptions says. InputError for bindings that do not fit, and for an
/// input without a type.
BoundInputs bind_inputs(const onnx::GraphProto& graph, const std::set<std::string>& constants,
                        const ImportOptions& options, const Assumptions& assumptions = {});

}  // namespace reverie::proto
