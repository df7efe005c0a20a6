#pragma once

#include <string>
#include <vector>

#include "core/ir/schema.h"

namespace reverie {

/// How ONNX has a row of the operator table, at the opsets that are read (kOldestOpset to
/// kNewestOpset of core/onnx/import.h).
struct OperatorOpsets {
  std::vector<std::string> names;  ///< from the oldest opset on; empty: no standard operator
  int oldest = 0, newest = 0;      ///< opsets that have it
};

OperatorOpsets opsets_of(const OpSchema& op);

}  // namespace reverie
