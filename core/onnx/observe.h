#pragma once

#include <string>
#include <unordered_map>

#include "core/onnx/import.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// What an import made of a value of the file.
struct Observed {
  TensorType type;
  WeightPtr weight;  ///< nullptr unless it is a stored constant
  bool is_initializer = false;
  /// The same for names of the same value (Identity).
  ValueId value;
};

/// By the value's name in the file.
using Observations = std::unordered_map<std::string, Observed>;

}  // namespace reverie::proto
