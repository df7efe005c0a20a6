#pragma once

#include <string>
#include <string_view>

#include "core/onnx/opset.h"
#include "core/onnx/proto.h"

namespace onnx {
class OpSchema;
}

/// Standard operators that the ONNX library does not know: of newer opsets, up to kNewestOpset.
namespace reverie::proto {

/// Whether it is an element type of some opset up to kNewestOpset; the library lacks the narrowest.
bool is_element_type(int32_t type);

inline constexpr int kRenamedGridModesSince = 20;  ///< GridSample is "linear", not "bilinear"

/// Whether the operator takes elements of that type at that opset, and not yet at kNewestInLibrary.
bool takes_newer_type(std::string_view op, int opset, DType dtype);

inline constexpr int kScaledByChannelSince = 21;  ///< GroupNormalization; before, by group

/// The form of an operator of the table at that opset; nullptr where that has no such operator. At
/// newer opsets than kNewestInLibrary, others than the added ones have the form that they have
/// there.
const onnx::OpSchema* schema_at(const std::string& op, int opset);

/// The opset at which the operator became what it is at `opset`; 0 where that has no such operator.
/// Past kNewestInLibrary the operator is still what it was where it only takes more element types.
int since_version(const std::string& op, int opset);

/// Restates a model of a newer opset at kNewestInLibrary, for the eyes of the library's checker and
/// shape inference: names and shapes of values are those of the model, values are not. What has a
/// node of the same shapes there becomes that (Gelu: Sigmoid); other nodes that are new or have a
/// new form move to a domain that the library does not know, and tensors of its unknown element
/// types become bytes. At any opset, so do operators that ONNX Runtime adds
/// (core/onnx/runtime_forms.h). Subgraphs and functions included, each function by the opset that
/// it imports.
void restate_for_library(onnx::ModelProto* model);

}  // namespace reverie::proto
