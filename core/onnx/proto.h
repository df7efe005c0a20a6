#pragma once

#include <onnx/onnx_pb.h>

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ir/tensor.h"
#include "core/ir/types.h"

/// Shared by import and export; private to core/onnx.
namespace reverie::proto {

/// kNone for element types that the project does not carry (complex numbers).
DType dtype_of(int32_t onnx_type);
int32_t onnx_type_of(DType dtype);

/// The static tensor type that `type` describes; nullopt for other kinds of values and where a
/// dimension is not a number, or too large.
std::optional<TensorType> tensor_type(const onnx::TypeProto& type);
void set_tensor_type(const TensorType& type, onnx::TypeProto* out);

/// The double whose shortest decimal form is that of `value`: 1e-5f gives 1e-5. A float attribute
/// means the number that was written in the source, and survives conversion to float and back.
double decimal(float value);

/// Whether the extent is a number. A negative one is an old way to say that it is not known.
inline bool has_extent(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

bool is_standard_domain(const std::string& domain);
/// What the value's dimensions are called, by axis: nothing where one is a number, and "x[0]" where
/// it has no name and hence nothing to do with any other.
std::vector<std::string> dimension_symbols(const onnx::ValueInfoProto& value);

/// Whether the value's type, or a dimension of it, says what it stands for.
bool has_denotation(const onnx::TypeProto& type);
/// Gives `type` what `declared` says of that; of dimensions where both have as many.
void copy_denotations(const onnx::TypeProto& declared, onnx::TypeProto* type);

/// "If", or "com.example::Fused".
std::string qualified_name(const onnx::NodeProto& node);
/// The node's name in the file, that of its first output where it has none; empty where it has no
/// outputs either.
const std::string& name_or_output(const onnx::NodeProto& node);
/// "node 'conv_1' (Conv)", for a person.
std::string described(const onnx::NodeProto& node);

/// Bytes of the largest message that Protobuf reads and writes.
inline constexpr int64_t kLargestMessage = std::numeric_limits<int>::max();

/// The message of an exception of the ONNX library in one line.
std::string one_line(const char* message);

}  // namespace reverie::proto
