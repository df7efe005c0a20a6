#include "core/onnx/proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/output.h"

namespace reverie::proto {
namespace {

struct TypePair {
  int32_t onnx_type;
  DType dtype;
};

constexpr std::array<TypePair, 14> kTypes = {{
    {onnx::TensorProto::FLOAT, DType::kFloat32},
    {onnx::TensorProto::DOUBLE, DType::kFloat64},
    {onnx::TensorProto::FLOAT16, DType::kFloat16},
    {onnx::TensorProto::BFLOAT16, DType::kBFloat16},
    {onnx::TensorProto::INT8, DType::kInt8},
    {onnx::TensorProto::INT16, DType::kInt16},
    {onnx::TensorProto::INT32, DType::kInt32},
    {onnx::TensorProto::INT64, DType::kInt64},
    {onnx::TensorProto::UINT8, DType::kUInt8},
    {onnx::TensorProto::UINT16, DType::kUInt16},
    {onnx::TensorProto::UINT32, DType::kUInt32},
    {onnx::TensorProto::UINT64, DType::kUInt64},
    {onnx::TensorProto::BOOL, DType::kBool},
    {onnx::TensorProto::STRING, DType::kString},
}};

}  // namespace

DType dtype_of(int32_t onnx_type) {
  for (const TypePair& pair : kTypes)
    if (pair.onnx_type == onnx_type) return pair.dtype;
  return DType::kNone;
}

int32_t onnx_type_of(DType dtype) {
  for (const TypePair& pair : kTypes)
    if (pair.dtype == dtype) return pair.onnx_type;
  return onnx::TensorProto::UNDEFINED;
}

std::optional<TensorType> tensor_type(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
  TensorType result;
  result.dtype = dtype_of(type.tensor_type().elem_type());
  if (!result.known()) return std::nullopt;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (!has_extent(dim)) return std::nullopt;
    result.shape.push_back(dim.dim_value());
  }
  if (!is_sane(result.shape)) return std::nullopt;
  return result;
}

void set_tensor_type(const TensorType& type, onnx::TypeProto* out) {
  auto* tensor = out->mutable_tensor_type();
  tensor->set_elem_type(onnx_type_of(type.dtype));
  auto* shape = tensor->mutable_shape();
  for (const int64_t extent : type.shape) shape->add_dim()->set_dim_value(extent);
}

double decimal(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

bool is_standard_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::vector<std::string> dimension_symbols(const onnx::ValueInfoProto& value) {
  std::vector<std::string> symbols;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    const std::string place = fmt::format("{}[{}]", value.name(), symbols.size());
    symbols.push_back(has_extent(dim) ? "" : dim.dim_param().empty() ? place : dim.dim_param());
  }
  return symbols;
}

bool has_denotation(const onnx::TypeProto& type) {
  return !type.denotation().empty() ||
         std::ranges::any_of(type.tensor_type().shape().dim(),
                             [](const auto& dim) { return !dim.denotation().empty(); });
}

void copy_denotations(const onnx::TypeProto& declared, onnx::TypeProto* type) {
  if (!declared.denotation().empty()) type->set_denotation(declared.denotation());
  const auto& from = declared.tensor_type().shape().dim();
  auto* to = type->mutable_tensor_type()->mutable_shape()->mutable_dim();
  for (int i = 0; from.size() == to->size() && i < to->size(); ++i)
    if (!from[i].denotation().empty()) to->Mutable(i)->set_denotation(from[i].denotation());
}

std::string qualified_name(const onnx::NodeProto& node) {
  if (is_standard_domain(node.domain())) return node.op_type();
  return node.domain() + "::" + node.op_type();
}

const std::string& name_or_output(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const auto& output : node.output())
    if (!output.empty()) return output;
  return node.name();
}

std::string described(const onnx::NodeProto& node) {
  return fmt::format("node '{}' ({})", readable(name_or_output(node)),
                     readable(qualified_name(node)));
}

std::string one_line(const char* message) {
  std::string text;
  for (const char* at = message; *at != '\0'; ++at) {
    const char c = static_cast<unsigned char>(*at) < ' ' ? ' ' : *at;
    if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  constexpr size_t kMaxLength = 400;
  if (text.size() > kMaxLength) text = text.substr(0, kMaxLength) + "...";
  return text;
}

}  // namespace reverie::proto
