#pragma once

#include <string>
#include <vector>

#include "core/ir/schema.h"

namespace reverie {

/// How ONNX has a row of the operator table, at the opsets that are read (kOldestOpset to
/// kNewestOpset of core/onnx/import.h).
struct OperatorOpsets {
  /// From the oldest opset on, then those that ONNX Runtime has beyond them; empty: none.
  std::vector<std::string> names;
  int oldest = 0, newest = 0;  ///< opsets that have it; 0: none
};

OperatorOpsets opsets_of(const OpSchema& op);

/// Operators that no row of the table is called after.
struct OtherOperators {
  std::vector<std::string>
      read;  ///< as other operators, or as constants, at least in some of their forms
  std::vector<std::string> untouched;  ///< carried through
};

/// Of the standard at the newest opset that the ONNX library knows, and of ONNX Runtime as far as
/// they are read.
OtherOperators other_operators();

}  // namespace reverie
