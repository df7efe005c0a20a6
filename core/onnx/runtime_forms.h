#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/ir/schema.h"
#include "core/onnx/opset.h"
#include "core/onnx/proto.h"

/// Operators of ONNX Runtime's that the standard does not have, or not at every opset. Exporters
/// write them.
namespace reverie::proto {

inline constexpr char kRuntimeDomain[] = "com.microsoft";

/// Whether ONNX Runtime has the operator in the standard's domain, where ONNX has no such operator,
/// or has it from a later opset on.
bool is_added_by_runtime(std::string_view op);

/// Whether the node or one in its subgraphs is an operator of ONNX Runtime's in a model of that
/// opset.
bool speaks_runtime(const onnx::NodeProto& node, int opset);

/// What ONNX Runtime calls a row of the operator table; its attributes are those of the row, but
/// for those in `said`. It takes any floating-point elements.
struct RuntimeForm {
  std::string_view domain, name;
  std::vector<std::string_view> said;  ///< by the name
  std::vector<int> places;             ///< of the outputs, which may be absent but for the first
};

/// nullptr where ONNX Runtime has no such operator beyond the standard.
const RuntimeForm* runtime_form(const OpSchema& op, const Attributes& attributes);

/// All names that ONNX Runtime has for the row beyond the standard: "com.microsoft::Gelu".
std::vector<std::string> runtime_names(const OpSchema& op);

}  // namespace reverie::proto
